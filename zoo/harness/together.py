"""The seeds of one subject trained at once in a worker, each ending as its own trial would."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from zoo.harness import checkpoint
from zoo.harness.device import Runtime
from zoo.harness.ensemble_trainer import EnsembleTrainer
from zoo.harness.jobs import Together
from zoo.tasks.learner import Learner

Curves = list[list[dict[str, float]]]


def train_together(
    models: Sequence[nn.Module],
    learner: Learner,
    work: Together,
    runtime: Runtime,
    report: Callable[[Any], None],
) -> list[dict[str, Any]]:
    """For each seed ``status``, ``reason`` and ``result``, as of a trial of its own.

    ``train_seconds`` and the curve's seconds are of all seeds at once; ``together`` in the metrics
    says of how many. Raises ApartError where the models have to be trained one by one.
    """
    training = work.setting.training
    train, scored = learner.splits(runtime, training.validation)
    trainer = EnsembleTrainer(
        models,
        train,
        training,
        runtime,
        work.seeds,
        vocab_size=learner.encoded.vocab_size,
        max_length=work.setting.sizes.max_length,
    )
    file = Path(work.checkpoint) if work.checkpoint else None
    curves = restore(file, trainer) if file else [[] for _ in work.seeds]
    while not trainer.finished and not all(map(_diverged, curves)):
        epochs = trainer.run_epoch()
        for curve, epoch in zip(curves, epochs, strict=True):
            curve.append(vars(epoch))
        if file and not trainer.finished:
            keep(file, trainer, curves)
        losses = [epoch.loss for epoch in epochs if math.isfinite(epoch.loss)]
        report({"epoch": trainer.epoch, "loss": float(np.mean(losses)) if losses else math.nan})
    return [_ended(trainer, n, curves[n], learner, scored, work) for n in range(len(work.seeds))]


def _diverged(curve: list[dict[str, float]]) -> str:
    """Why a seed ended early; empty where it did not."""
    for row in curve:
        if not math.isfinite(row["loss"]):
            return f"the loss became {row['loss']} in epoch {row['number']}"
    return ""


def _ended(
    trainer: EnsembleTrainer,
    number: int,
    curve: list[dict[str, float]],
    learner: Learner,
    scored: Any,
    work: Together,
) -> dict[str, Any]:
    if reason := _diverged(curve):
        return {"status": "diverged", "reason": reason, "result": None}
    model = trainer.ensemble.member(number)
    start = time.perf_counter()
    scores = learner.score(model, scored, trainer.runtime)
    metrics = {
        "params": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "together": len(work.seeds),
        "train_seconds": sum(row["seconds"] for row in curve),
        "evaluate_seconds": time.perf_counter() - start,
        "scored": "validation" if work.setting.training.validation else "test",
        **scores,
    }
    return {"status": "ok", "reason": "", "result": {"metrics": metrics, "curve": curve}}


def keep(file: Path, trainer: EnsembleTrainer, curves: Curves) -> None:
    """Write stacks, optimizer, every seed's random state and the curves, as for one trial."""
    ensemble = trainer.ensemble
    tensors: dict[str, Tensor] = {f"parameters/{n}": t for n, t in ensemble.parameters.items()}
    tensors |= {f"buffers/{n}": t for n, t in ensemble.buffers.items()}
    tensors |= checkpoint.optimizer_tensors(trainer.optimizer)
    for seed, states in enumerate(ensemble.streams.states):
        tensors |= {f"random/{seed}/{n}": state for n, state in enumerate(states)}
    about = {"epoch": trainer.epoch, "step": trainer.step, "curves": curves}
    checkpoint.write(file, tensors, about)


def restore(file: Path, trainer: EnsembleTrainer) -> Curves:
    """Bring the trainer to where ``keep`` was called, and return the curves up to there.

    Without a file, or with one that is torn, nothing changes and the curves are empty.
    """
    found = checkpoint.read(file, trainer.runtime.device)
    if found is None:
        return [[] for _ in trainer.seeds]
    about, tensors = found
    ensemble = trainer.ensemble
    for stacks, prefix in ((ensemble.parameters, "parameters/"), (ensemble.buffers, "buffers/")):
        for name, tensor in checkpoint.part(tensors, prefix).items():
            stacks[name].detach().copy_(tensor)
    checkpoint.load_optimizer(trainer.optimizer, tensors)
    for seed, states in enumerate(ensemble.streams.states):
        for number in range(len(states)):
            states[number] = tensors[f"random/{seed}/{number}"].cpu()
    trainer.epoch, trainer.step = about["epoch"], about["step"]
    curves: Curves = about["curves"]
    return curves
