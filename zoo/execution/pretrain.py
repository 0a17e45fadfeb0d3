"""What a model begins with where it is pretrained: the weights of a stage before its training.

The stage is masked language modelling of the model's own encoder on the training texts. It leaves
its weights in the job's directory, so that an interrupted job goes on after it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

from zoo.data.batches import MaskedSplit
from zoo.data.encoding import windows
from zoo.data.tokenizer import piece_bytes
from zoo.errors import ZooError
from zoo.execution.base import Step, TrainJob
from zoo.models.architectures import MaskedLanguageModel, masked_head
from zoo.models.seeding import seeded
from zoo.models.stack import Encoder
from zoo.tasks.base import TaskSetup
from zoo.tasks.mlm import MaskedLanguageModelling
from zoo.training import checkpoint
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

CHECKPOINT = "pretraining.pt"  # of a stage that is not finished
FINISHED = "pretrained.safetensors"


def begin(
    job: TrainJob,
    setup: TaskSetup,
    model: nn.Module,
    runtime: Runtime,
    directory: Path,
    run: Callable[[Trainer, Path], Generator[Step, None, list[dict[str, float]]]],
) -> Generator[Step, None, dict[str, Any]]:
    """Give a model the encoder of its stage, which is done first; what a record says of that.

    model: on its device. directory: of the job. run: trains to the end, with a file for its
    checkpoint, and returns the curve.
    """
    file = directory / FINISHED
    if not file.exists():
        trainer, described = _stage(job, setup, model, runtime)
        curve = yield from run(trainer, directory / CHECKPOINT)
        described |= {"losses": [e["loss"] for e in curve], "accuracy": curve[-1]["accuracy"]}
        seconds = sum(entry["seconds"] for entry in curve)
        metrics = {"pretrain_seconds": seconds, "pretraining": described}
        checkpoint.write_tensors(file, _encoder(trainer.model).state_dict(), metrics)
        (directory / CHECKPOINT).unlink(missing_ok=True)
    _encoder(model).load_state_dict(load_file(file))
    with safe_open(file, framework="pt") as finished:
        kept: dict[str, Any] = json.loads(finished.metadata()["zoo"])
    return kept


def _stage(
    job: TrainJob, setup: TaskSetup, model: nn.Module, runtime: Runtime
) -> tuple[Trainer, dict[str, Any]]:
    """What trains the stage of a model, and how many texts and tokens it reads in an epoch."""
    own = setup.pretraining
    with seeded(job.seed, "masked_head"):
        head = masked_head(setup.sizes.dim)
    masked = MaskedLanguageModel(_encoder(model), head).to(runtime.device)
    tokenizer = setup.data.tokenizer()
    task: Any = setup.task  # of which it is known that it has an encoder
    texts = task.texts_to_pretrain(setup, all_data=job.all_data)
    arrays = windows(tokenizer, texts, setup.sizes.max_length)
    if not len(arrays):
        raise ZooError("--init pretrain: every training text is empty or scored")
    masked.expect(np.bincount(arrays.ids, minlength=masked.bias.numel()))
    split = MaskedSplit(arrays, own.pretrain_masked, piece_bytes(tokenizer), runtime.device)
    if job.setup.execution.compile:
        masked.compile(dynamic=True)
    changes = {"epochs": own.pretrain_epochs, "lr": own.pretrain_lr}
    training = setup.training.model_copy(
        update={**changes, "label_smoothing": 0.0, "validation": 0.0}
    )
    loss = functools.partial(MaskedLanguageModelling().loss, replace(setup, training=training))
    trainer = Trainer(masked, split, loss, training, runtime, job.seed)
    return trainer, {"texts": len(texts), "tokens": len(arrays.ids)}


def _encoder(model: nn.Module) -> Encoder:
    """The encoder of a model."""
    encoder = next((part for part in model.modules() if isinstance(part, Encoder)), None)
    if encoder is None:
        raise ZooError(f"--init: a {type(model).__name__} has no encoder")
    return encoder
