"""Jobs that need one process: training one model, and inspecting the machine."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zoo.errors import ComponentError, RefusedError, ZooError
from zoo.execution.base import WEIGHTS, InspectJob, Limits, Result, Step, TrainJob
from zoo.execution.epochs import run_epochs
from zoo.execution.machine import environment, use_threads
from zoo.execution.open_setup import build_model, find_baseline, find_estimator, open_setup
from zoo.models.seeding import derive
from zoo.registry.cell import model_name
from zoo.tasks.base import Estimator, Evaluation, TaskSetup
from zoo.training import checkpoint
from zoo.training.device import resolve
from zoo.training.sample_outputs import sample_outputs
from zoo.training.trainer import Trainer, auxiliary_of

CHECKPOINT = "checkpoint.safetensors"
VALIDATION = "validation_"  # what the names of scores on held-out texts begin with in a curve


def inspect(job: InspectJob, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Resolve device and precision, and build the job's models once.

    Raises ZooError where a component refuses the values that it was given. A component that is
    broken is no reason to stop: the rows that use it will say so.
    """
    use_threads(limits.threads)
    runtime = resolve(job.setup.execution)
    setup = open_setup(job.setup)
    for model in job.models:
        if find_estimator(setup, model) is not None:
            continue
        try:
            build_model(setup, model, seed=0)
        except ComponentError:
            continue
        except (RefusedError, TypeError, RuntimeError) as error:
            raise ZooError(f"{model_name(model)} cannot be built: {error}") from error
    yield Result(environment=environment(runtime))


def train(job: TrainJob, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Train and score one model with one seed."""
    use_threads(limits.threads)
    setup = open_setup(job.setup)
    estimator = find_estimator(setup, job.model)
    if estimator is not None:
        yield _fit(job, setup, estimator)
        return
    runtime = resolve(job.setup.execution)
    task = setup.task
    model = build_model(setup, job.model, job.seed).to(runtime.device)
    epochs_before, metrics_before = 0, dict[str, Any]()
    if setup.pretraining.init:
        # Imported here, for the numbers of other models do not depend on it.
        from zoo.execution.pretrain import begin

        epochs_before, metrics_before = yield from begin(job, setup, model, runtime, directory)
    if job.setup.execution.compile:
        model.compile(dynamic=True)
    if job.all_data:
        training, scored = task.split(setup, setup.data.splits, runtime.device), None
    else:
        training, scored = task.splits(setup, runtime.device)
    loss = functools.partial(task.loss, setup)
    trainer = Trainer(model, training, loss, setup.training, runtime, job.seed)
    evaluate_seconds = 0.0
    scores: dict[str, Any] = {"scored": ""}

    def evaluate() -> dict[str, float]:
        """Score the model where that is asked for; the part that the curve has."""
        nonlocal evaluate_seconds, scores
        validation = bool(setup.training.validation)
        if scored is None or not (trainer.finished or validation):
            return {}
        start = time.perf_counter()
        evaluation = task.evaluate(setup, model, scored, runtime)
        evaluate_seconds = time.perf_counter() - start
        scores = _metrics(setup, evaluation)
        return _on_validation(setup, scores) if validation else {}

    total = epochs_before + setup.training.epochs
    curve = yield from run_epochs(trainer, directory / CHECKPOINT, epochs_before, total, evaluate)
    outputs: dict[str, Any] = {}
    if job.save_weights:
        outputs = sample_outputs(
            model, task.sample_scores, setup.vocab_size, setup.sizes.max_length
        )
        checkpoint.write_tensors(directory / WEIGHTS, model.state_dict())
    yield Result(
        metrics={
            "params": sum(p.numel() for p in model.parameters() if p.requires_grad),
            "train_seconds": sum(entry["seconds"] for entry in curve),
            "evaluate_seconds": evaluate_seconds,
            **metrics_before,
            **({"auxiliary": auxiliary} if (auxiliary := auxiliary_of(curve[-1])) else {}),
            **scores,
        },
        curve=curve,
        environment=environment(runtime),
        sample_outputs=outputs,
    )


def _fit(job: TrainJob, setup: TaskSetup, estimator: Estimator) -> Result:
    """Fit and score a baseline that fits itself, on the same data."""
    choice = find_baseline(setup, job.model)
    assert choice is not None
    np.random.seed(derive(job.seed, "baseline") % 2**32)  # scikit-learn's default generator
    start = time.perf_counter()
    estimator.fit()
    seconds = time.perf_counter() - start
    return Result(
        metrics={
            "params": getattr(estimator.model, "parameters", None),
            "train_seconds": seconds,
            **({"deterministic": True} if choice.can("deterministic") else {}),
            **_metrics(setup, estimator.evaluate()),
        },
        environment=environment(resolve(job.setup.execution)),
    )


def _on_validation(setup: TaskSetup, scores: Mapping[str, Any]) -> dict[str, float]:
    """The scores after an epoch, as a curve holds them."""
    metrics = setup.task.metrics_from(setup.registry, setup.labels)
    names = [metric.description.name for metric in metrics]
    return {f"{VALIDATION}{name}": scores[name] for name in names}


def _metrics(setup: TaskSetup, evaluation: Evaluation) -> dict[str, Any]:
    """The task's metrics, also of every group, its other results, and the split that was scored."""
    validation = setup.training.validation
    metrics = setup.task.metrics_from(setup.registry, setup.labels)

    def values(outputs: Mapping[str, Any]) -> dict[str, float]:
        return {metric.description.name: metric.of(outputs) for metric in metrics}

    groups = {
        group: {"examples": outputs["examples"], **values(outputs)}
        for group, outputs in evaluation.groups.items()
    }
    return {
        "scored": "validation" if validation else setup.task.scored_split,
        **values(evaluation.outputs),
        **evaluation.details,
        **({"groups": groups} if groups else {}),
    }
