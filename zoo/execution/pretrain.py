"""What a model begins with: new weights, those of a saved encoder, or of a stage before training.

A stage leaves its weights in the job's directory, so that an interrupted job goes on after it, and
in this machine's cache: trainings that differ in what comes after the stage share it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

from zoo.config.machine import machine_of
from zoo.config.pretraining import PRETRAIN, SAVED_MODEL
from zoo.data.cache import (
    cache_directory,
    entry,
    file_digest,
    is_intact,
    json_digest,
    write_manifest,
)
from zoo.data.sources.corpus import content_digest
from zoo.errors import DivergedError
from zoo.execution.base import Step, TrainJob
from zoo.execution.environment import environment
from zoo.execution.epoch_steps import run_epoch
from zoo.models.masked_language_model import MaskedLanguageModel
from zoo.tasks.base import TaskSetup
from zoo.tasks.mlm import masked_loss
from zoo.tasks.pretraining_stage import (
    encoder_tensors,
    load_encoders,
    make_stage,
    stage_model,
    stage_texts,
    stage_training,
)
from zoo.training import checkpoint
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

CHECKPOINT = "pretraining.safetensors"  # of a stage that is not finished
FINISHED = "pretrained.safetensors"


@dataclass(frozen=True)
class Beginning:
    """epochs: of the stage before training, 0 without one. metrics: what a record says of it."""

    epochs: int = 0
    metrics: Mapping[str, Any] = field(default_factory=dict)


def begin(
    job: TrainJob, setup: TaskSetup, model: nn.Module, runtime: Runtime, directory: Path
) -> Generator[Step, None, Beginning]:
    """Give a new model on its device the weights that it begins with. Baselines stay as they are.

    directory: of the job. The seconds of the metrics are those of the stage wherever it was done.
    """
    pretraining = setup.pretraining
    if not pretraining.init or job.model.baseline:
        return Beginning()
    if pretraining.init != PRETRAIN:
        load_encoders(model, load_file(setup.data.directory / SAVED_MODEL))
        return Beginning()
    file = directory / FINISHED
    if not file.exists():
        masked = stage_model(model, job.seed).to(runtime.device)
        texts = stage_texts(setup, all_data=job.all_data)
        key = f"pretrained-{_key(job, setup, masked, texts, runtime)}"
        shared = cache_directory() / key / FINISHED
        # Two jobs with the same stage: the second waits, and has what the first one made.
        with FileLock(cache_directory() / f"{key}.stage.lock"):
            if is_intact(shared.parent):
                unfinished = file.with_suffix(".tmp")  # a kill leaves no half of the file
                shutil.copyfile(shared, unfinished)
                os.replace(unfinished, file)
            else:
                yield from _train(job, setup, masked, texts, runtime, directory)
                entry(key, lambda draft: _store(file, draft))
    load_encoders(model, load_file(file))
    with safe_open(file, framework="pt") as finished:
        metrics = json.loads(finished.metadata()["zoo"])
    return Beginning(pretraining.pretrain_epochs, metrics)


def _train(
    job: TrainJob,
    setup: TaskSetup,
    model: MaskedLanguageModel,
    texts: list[str],
    runtime: Runtime,
    directory: Path,
) -> Generator[Step]:
    """Carry out the stage, and leave its weights and what is known of it in the directory."""
    stage = make_stage(setup, model, texts, runtime.device)
    if job.setup.execution.compile:
        model.compile(dynamic=True)
    trainer = Trainer(model, stage.split, masked_loss, stage.training, runtime, job.seed)
    curve = checkpoint.restore(directory / CHECKPOINT, trainer)
    total = stage.training.epochs + setup.training.epochs
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
            "tokens": len(stage.split.arrays.ids),
            "losses": [each["loss"] for each in curve],
            "accuracy": curve[-1]["accuracy"],
        },
    }
    checkpoint.write_tensors(directory / FINISHED, encoder_tensors(model), metrics)
    (directory / CHECKPOINT).unlink(missing_ok=True)


def _store(file: Path, draft: Path) -> None:
    shutil.copyfile(file, draft / file.name)
    write_manifest(draft, {})


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
            "training": stage_training(setup).model_dump(),
            "pretraining": setup.pretraining.model_dump(),
            "texts": content_digest(texts),
            "tokenizer": file_digest(setup.data.tokenizer_path),
            "max_length": setup.sizes.max_length,
            "code": [[code.distribution, code.version, code.hash] for code in job.setup.code],
            "machine": machine_of(environment(runtime)),
            "compile": job.setup.execution.compile,
        }
    )[:32]
