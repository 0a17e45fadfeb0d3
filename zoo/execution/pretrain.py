"""What a model begins with where it is pretrained: the weights of a stage before its training.

The stage is masked language modelling of the model's own encoder on the training texts. It leaves
its weights in the job's directory, so that an interrupted job goes on after it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

from zoo.data.encoding import token_counts, windows
from zoo.data.masked_batches import MaskedSplit
from zoo.data.tokenizer import piece_bytes
from zoo.errors import ZooError
from zoo.execution.base import TrainJob
from zoo.models.architectures import MaskedLanguageModel, masked_head
from zoo.models.seeding import seeded
from zoo.models.stack import Encoder
from zoo.tasks.base import TaskSetup
from zoo.tasks.mlm import MaskedLanguageModelling
from zoo.training import checkpoint
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

CHECKPOINT = "pretraining.safetensors"  # of a stage that is not finished
FINISHED = "pretrained.safetensors"
ENCODER_PREFIX = "encoder."  # of the encoder's tensors among those of a masked language model


@dataclass(frozen=True)
class Stage:
    """The stage before a training. texts, tokens: how many it reads in an epoch."""

    trainer: Trainer
    texts: int
    tokens: int


def stage_of(
    job: TrainJob, setup: TaskSetup, model: nn.Module, runtime: Runtime, directory: Path
) -> Stage | None:
    """The stage that is still to be done; None where it is finished.

    model: on its device. directory: of the job.
    """
    own = setup.pretraining
    if (directory / FINISHED).exists():
        return None
    with seeded(job.seed, "masked_head"):
        head = masked_head(setup.sizes.dim)
    masked = MaskedLanguageModel(_encoder(model), head).to(runtime.device)
    tokenizer = setup.data.tokenizer()
    task: Any = setup.task  # of which it is known that it has an encoder
    texts = task.texts_to_pretrain(setup, all_data=job.all_data)
    arrays = windows(tokenizer, texts, setup.sizes.max_length)
    if not len(arrays):
        raise ZooError("--init pretrain: every training text is empty or scored")
    masked.expect(token_counts(arrays, masked.bias.numel()))
    sizes = piece_bytes(tokenizer)
    split = MaskedSplit(arrays, own.pretrain_masked, sizes, runtime.device)
    if job.setup.execution.compile:
        masked.compile(dynamic=True)
    changes = {"epochs": own.pretrain_epochs, "lr": own.pretrain_lr}
    training = setup.training.model_copy(
        update={**changes, "label_smoothing": 0.0, "validation": 0.0}
    )
    loss = functools.partial(MaskedLanguageModelling().loss, replace(setup, training=training))
    trainer = Trainer(masked, split, loss, training, runtime, job.seed)
    return Stage(trainer, len(texts), len(arrays.ids))


def finish(stage: Stage, curve: Sequence[Mapping[str, float]], directory: Path) -> None:
    """Leave the weights of a stage, and what a record says of it, in the job's directory."""
    metrics = {
        "pretrain_seconds": sum(each["seconds"] for each in curve),
        "pretraining": {
            "texts": stage.texts,
            "tokens": stage.tokens,
            "losses": [each["loss"] for each in curve],
            "accuracy": curve[-1]["accuracy"],
        },
    }
    encoder = _encoder(stage.trainer.model).state_dict()
    tensors = {f"{ENCODER_PREFIX}{name}": tensor for name, tensor in encoder.items()}
    checkpoint.write_tensors(directory / FINISHED, tensors, metrics)
    (directory / CHECKPOINT).unlink(missing_ok=True)


def begin(model: nn.Module, directory: Path) -> dict[str, Any]:
    """Give a model the encoder of its finished stage; what a record says of that."""
    encoder = load_file(directory / FINISHED)
    _encoder(model).load_state_dict({n.removeprefix(ENCODER_PREFIX): t for n, t in encoder.items()})
    with safe_open(directory / FINISHED, framework="pt") as finished:
        metrics: dict[str, Any] = json.loads(finished.metadata()["zoo"])
    return metrics


def _encoder(model: nn.Module) -> Encoder:
    """The encoder of a model."""
    encoder = next((part for part in model.modules() if isinstance(part, Encoder)), None)
    if encoder is None:
        raise ZooError(f"--init: a {type(model).__name__} has no encoder")
    return encoder
