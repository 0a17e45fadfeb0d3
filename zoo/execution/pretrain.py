"""What a model begins with: new weights, those of a saved encoder, or of a stage before training.

The stage is masked language modelling of the model's own encoder on the training texts. It leaves
its weights in the job's directory, so that an interrupted job goes on after it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from zoo.config.settings import PRETRAIN, SAVED_MODEL
from zoo.data.encoding import token_counts, windows
from zoo.data.masked_batches import MaskedSplit
from zoo.data.tokenizer import Vocabulary
from zoo.errors import DivergedError, ZooError
from zoo.execution.base import Step, TrainJob
from zoo.execution.epochs import run_epochs
from zoo.models.architectures import MaskedLanguageModel, masked_head
from zoo.models.seeding import seeded
from zoo.models.stack import Encoder
from zoo.tasks.base import TaskSetup
from zoo.tasks.mlm import masked_loss
from zoo.training import checkpoint
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

CHECKPOINT = "pretraining.safetensors"  # of a stage that is not finished
FINISHED = "pretrained.safetensors"
PREFIX = "encoder."  # of the encoder's tensors among those of a masked language model


def begin(
    job: TrainJob, setup: TaskSetup, model: nn.Module, runtime: Runtime, directory: Path
) -> Generator[Step, None, tuple[int, dict[str, Any]]]:
    """Give a new model on its device the weights that it begins with. Baselines stay as they are.

    directory: of the job. Returns the epochs of the stage before training, 0 without one, and what
    a record says of it.
    """
    pretraining = setup.pretraining
    if not pretraining.init or "baseline" in job.model:
        return 0, {}
    if pretraining.init != PRETRAIN:
        _load_encoder(model, load_file(setup.data.directory / SAVED_MODEL))
        return 0, {}
    file = directory / FINISHED
    if not file.exists():
        with seeded(job.seed, "masked_head"):
            head = masked_head(setup.sizes.dim)
        masked = MaskedLanguageModel(_encoder(model), head).to(runtime.device)
        yield from _train(job, setup, masked, runtime, directory)
    _load_encoder(model, load_file(file))
    with safe_open(file, framework="pt") as finished:
        metrics = json.loads(finished.metadata()["zoo"])
    return pretraining.pretrain_epochs, metrics


def _train(
    job: TrainJob,
    setup: TaskSetup,
    model: MaskedLanguageModel,
    runtime: Runtime,
    directory: Path,
) -> Generator[Step]:
    """Carry out the stage, and leave its weights and what is known of it in the directory."""
    tokenizer, own = setup.data.tokenizer(), setup.pretraining
    texts = setup.task.texts_to_pretrain(setup, all_data=job.all_data)
    arrays = windows(tokenizer, texts, setup.sizes.max_length)
    if not len(arrays):
        raise ZooError("--init pretrain: every training text is empty or scored")
    model.expect(token_counts(arrays, model.bias.numel()))
    vocabulary = Vocabulary.of(tokenizer)
    split = MaskedSplit(arrays, own.pretrain_masked, vocabulary, runtime.device)
    if job.setup.execution.compile:
        model.compile(dynamic=True)
    changes = {"epochs": own.pretrain_epochs, "lr": own.pretrain_lr}
    training = setup.training.model_copy(
        update={**changes, "label_smoothing": 0.0, "validation": 0.0}
    )
    trainer = Trainer(model, split, masked_loss, training, runtime, job.seed)
    total = own.pretrain_epochs + setup.training.epochs
    try:
        curve = yield from run_epochs(trainer, directory / CHECKPOINT, 0, total)
    except DivergedError as error:
        raise DivergedError(f"{error} of the pretraining") from error
    metrics = {
        "pretrain_seconds": sum(each["seconds"] for each in curve),
        "pretraining": {
            "texts": len(texts),
            "tokens": len(arrays.ids),
            "losses": [each["loss"] for each in curve],
            "accuracy": curve[-1]["accuracy"],
        },
    }
    tensors = {f"{PREFIX}{name}": tensor for name, tensor in model.encoder.state_dict().items()}
    checkpoint.write_tensors(directory / FINISHED, tensors, metrics)
    (directory / CHECKPOINT).unlink(missing_ok=True)


def _encoder(model: nn.Module) -> Encoder:
    """The encoder of a model."""
    encoder = next((part for part in model.modules() if isinstance(part, Encoder)), None)
    if encoder is None:
        raise ZooError(f"--init: a {type(model).__name__} has no encoder")
    return encoder


def _load_encoder(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give the model's encoder the weights of a masked language model's."""
    own = {n.removeprefix(PREFIX): t for n, t in tensors.items() if n.startswith(PREFIX)}
    try:
        _encoder(model).load_state_dict(own)
    except RuntimeError as error:
        raise ZooError(f"--init: {' '.join(str(error).split())}") from error
