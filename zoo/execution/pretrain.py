"""What a model begins with: new weights, those of a saved encoder, or of a stage before training.

The stage is masked language modelling of the model's own encoder. It leaves its weights in the
job's directory, so that an interrupted job goes on after it, and in this machine's cache: trainings
that differ in what comes after the stage share it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from zoo.config.settings import GIVEN_TEXTS, PRETRAIN, SAVED_MODEL, Training, machine_of
from zoo.data.cache import (
    cache_directory,
    entry,
    file_digest,
    is_intact,
    json_digest,
)
from zoo.data.encoding import token_counts, windows
from zoo.data.masked_batches import MaskedSplit, Masking
from zoo.data.sources.corpus import content_digest
from zoo.data.tokenizer import Vocabulary
from zoo.errors import DivergedError, ZooError
from zoo.execution.base import Step, TrainJob
from zoo.execution.machine import environment
from zoo.execution.train_job import run_epoch
from zoo.files import locked, replacing
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
    a record says of it; its seconds are those of the stage wherever it was done.
    """
    pretraining = setup.pretraining
    if not pretraining.init or job.model.baseline:
        return 0, {}
    if pretraining.init != PRETRAIN:
        _load_encoders(model, load_file(setup.data.directory / SAVED_MODEL))
        return 0, {}
    file = directory / FINISHED
    if not file.exists():
        with seeded(job.seed, "masked_head"):
            head = masked_head(setup.sizes.dim)
        masked = MaskedLanguageModel(_encoders(model)[0], head).to(runtime.device)
        texts = _texts(setup, all_data=job.all_data)
        key = f"pretrained-{_key(job, setup, masked, texts, runtime)}"
        shared = cache_directory() / key / FINISHED
        # Two jobs with the same stage: the second waits, and has what the first one made.
        with locked(cache_directory() / f"{key}.stage.lock"):
            if is_intact(shared.parent):
                with replacing(file, shared.stat().st_size) as unfinished:
                    shutil.copyfile(shared, unfinished)
            else:
                yield from _train(job, setup, masked, texts, runtime, directory)
                entry(key, functools.partial(_store, file))
    _load_encoders(model, load_file(file))
    with safe_open(file, framework="pt") as finished:
        metrics = json.loads(finished.metadata()["zoo"])
    return pretraining.pretrain_epochs, metrics


def _train(
    job: TrainJob,
    setup: TaskSetup,
    model: MaskedLanguageModel,
    texts: list[str],
    runtime: Runtime,
    directory: Path,
) -> Generator[Step]:
    """Carry out the stage, and leave its weights and what is known of it in the directory."""
    tokenizer, own = setup.data.tokenizer(), setup.pretraining
    arrays = windows(tokenizer, texts, setup.sizes.max_length)
    if not len(arrays):
        raise ZooError("--pretrain-data: there is no word in it")
    model.expect(token_counts(arrays, model.bias.numel()))
    masking = Masking(own.pretrain_masked, own.pretrain_whole_words)
    split = MaskedSplit(arrays, masking, Vocabulary.of(tokenizer), runtime.device)
    if job.setup.execution.compile:
        model.compile(dynamic=True)
    trainer = Trainer(model, split, masked_loss, _training(setup), runtime, job.seed)
    curve = checkpoint.restore(directory / CHECKPOINT, trainer)
    total = own.pretrain_epochs + setup.training.epochs
    while not trainer.finished:
        try:
            epoch = yield from run_epoch(trainer, trainer.epoch, total)
        except DivergedError as error:
            raise DivergedError(f"{error} of the pretraining") from error
        curve.append(epoch.entry)
        checkpoint.save(directory / CHECKPOINT, trainer, curve)
        yield Step(epoch.number, total, epoch.loss)
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


def _texts(setup: TaskSetup, *, all_data: bool) -> list[str]:
    """The texts of the stage; ZooError where none is left that is not scored."""
    file = setup.data.directory / GIVEN_TEXTS
    given = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    texts = setup.task.texts_to_pretrain(setup, given, all_data=all_data)
    if not texts:
        raise ZooError("--pretrain-data: every text in it is one that is scored")
    return texts


def _training(setup: TaskSetup) -> Training:
    """How the stage is trained: as the model, with epochs and learning rate of its own."""
    own = setup.pretraining
    changes = {"epochs": own.pretrain_epochs, "lr": own.pretrain_lr}
    return setup.training.model_copy(update={**changes, "label_smoothing": 0.0, "validation": 0.0})


def _encoders(model: nn.Module) -> list[Encoder]:
    """The encoders of a model: one, or that of each member of an ensemble."""
    found = [module for module in model.modules() if isinstance(module, Encoder)]
    if not found:
        raise ZooError(f"--init: a {type(model).__name__} has no encoder")
    return found


def _load_encoders(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give every encoder of the model the encoder's weights of a masked language model."""
    own = {n.removeprefix(PREFIX): t for n, t in tensors.items() if n.startswith(PREFIX)}
    for encoder in _encoders(model):
        try:
            encoder.load_state_dict(own)
        except RuntimeError as error:
            raise ZooError(f"--init: {' '.join(str(error).split())}") from error


def _store(file: Path, draft: Path) -> dict[str, str]:
    shutil.copyfile(file, draft / FINISHED)
    return {}


def _key(
    job: TrainJob, setup: TaskSetup, model: MaskedLanguageModel, texts: list[str], runtime: Runtime
) -> str:
    """A hash of everything that the weights at the end of a stage depend on.

    The weights that it begins with stand for all that decides how the model is built.
    """
    weights = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        weights.update(name.encode() + tensor.cpu().float().numpy().tobytes())
    return json_digest(
        {
            "weights": weights.hexdigest(),
            "cell": dict(job.model.cell),
            "seed": job.seed,
            "training": _training(setup).model_dump(),
            "pretraining": setup.pretraining.model_dump(),
            "texts": content_digest(texts),
            "tokenizer": file_digest(setup.data.tokenizer_path),
            "max_length": setup.sizes.max_length,
            "code": [[code.distribution, code.version, code.hash] for code in job.setup.code],
            "machine": machine_of(environment(runtime)),
            "compile": job.setup.execution.compile,
        }
    )[:32]
