"""Jobs that need one process: training one model, and describing the machine."""

from __future__ import annotations

import dataclasses
import functools
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zoo.config.settings import HELD_OUT
from zoo.errors import DivergedError
from zoo.execution.base import WEIGHTS, InspectJob, Limits, Result, Step, TrainJob
from zoo.execution.machine import environment, use_threads
from zoo.execution.open_setup import build_model, find_baseline, open_setup
from zoo.models.seeding import derive, seeded
from zoo.tasks.base import Estimator, Evaluation, TaskSetup
from zoo.training import checkpoint
from zoo.training.checkpoint import sample_outputs
from zoo.training.device import faster_precision, resolve
from zoo.training.trainer import Trainer, auxiliary_of

CHECKPOINT = "checkpoint.pt"
VALIDATION = "validation_"  # what the names of scores on held-out texts begin with in a curve
OFTEN = 5.0  # seconds between two reports of how far an epoch is
Curve = list[dict[str, float]]


def inspect(job: InspectJob, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Describe the machine, and choose a precision. Raises ZooError for a device it has not."""
    use_threads(limits.threads)
    setup, execution = job.setup, job.setup.execution
    runtime = resolve(execution)
    if execution.precision == "auto" and runtime.precision == "bf16":
        best = faster_precision(runtime.device, setup.sizes, setup.training.batch_size)
        execution = execution.model_copy(update={"precision": best})
    yield Result(environment=environment(execution))


def train(job: TrainJob, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Train and score one model with one seed."""
    use_threads(limits.threads)
    setup = open_setup(job.setup)
    if job.all_data:
        setup = dataclasses.replace(setup, labels=setup.data.label_names)
    baseline = find_baseline(setup, job.model)
    if baseline is not None and (estimator := setup.task.estimator(setup, baseline)):
        yield _fit(job, setup, estimator, baseline.can("deterministic"))
        return
    runtime = resolve(job.setup.execution)
    task, registry, epochs = setup.task, setup.registry, setup.training.epochs
    model = build_model(setup, job.model, job.seed).to(runtime.device)
    before, metrics_before = 0, dict[str, Any]()
    if setup.pretraining.init and "baseline" not in job.model:
        # Imported here, for the numbers of other models do not depend on it.
        from zoo.execution import pretrain

        before = setup.pretraining.pretrain_epochs
        run = functools.partial(run_epochs, done=0, total=before + epochs)
        metrics_before = yield from pretrain.begin(job, setup, model, runtime, directory, run)
    if job.setup.execution.compile:
        model.compile(dynamic=True)
    held_out: Any = None
    if job.all_data:
        training, scored = task.split(setup, setup.data.splits, runtime.device), None
    else:
        training, scored = task.splits(setup, runtime.device)
    every = setup.training.evaluate_every
    tuning = dataclasses.replace(
        setup, training=setup.training.model_copy(update={"validation": HELD_OUT})
    )
    if every and scored is not None:
        training, held_out = task.splits(tuning, runtime.device)
    loss = functools.partial(task.loss, setup)
    trainer = Trainer(model, training, loss, setup.training, runtime, job.seed)
    metrics = task.metrics_from(registry, setup.scored_labels)
    first = metrics[0].description
    evaluate_seconds = 0.0
    scores: dict[str, Any] = {"scored": ""}

    def evaluate() -> dict[str, float]:
        """Score the model where that is asked for; the part that the curve has."""
        nonlocal evaluate_seconds, scores
        validation = bool(setup.training.validation)
        if held_out is not None:
            value = metrics[0].of(task.evaluate(tuning, model, held_out, runtime).outputs)
            return {f"{VALIDATION}{first.name}": value}
        if scored is None or not (trainer.finished or validation):
            return {}
        score()
        names = [metric.description.name for metric in metrics]
        return {f"{VALIDATION}{name}": scores[name] for name in names} if validation else {}

    def score() -> None:
        """Score the model on what nothing else has touched."""
        nonlocal evaluate_seconds, scores
        start = time.perf_counter()
        evaluation = task.evaluate(setup, model, scored, runtime)
        evaluate_seconds = time.perf_counter() - start
        scores = _metrics(setup, evaluation)

    def solves(entry: Mapping[str, float]) -> bool:
        """Whether an evaluation is good enough to end the training, if the next one is too."""
        value = entry.get(f"{VALIDATION}{first.name}")
        goal = setup.solved_at
        return value is not None and goal is not None and first.better(value - goal) >= 0

    curve = yield from run_epochs(
        trainer, directory / CHECKPOINT, before, before + epochs, evaluate, solves
    )
    if held_out is not None:
        score()
    outputs: dict[str, Any] = {}
    if job.save_weights:
        outputs = sample_outputs(
            model, task.sample_scores, setup.vocab_size, setup.sizes.max_length
        )
        checkpoint.write_tensors(directory / WEIGHTS, model.state_dict())
    last = curve[-1] if curve else {}
    yield Result(
        metrics={
            "params": sum(p.numel() for p in model.parameters() if p.requires_grad),
            "train_seconds": sum(entry["seconds"] for entry in curve),
            "evaluate_seconds": evaluate_seconds,
            "attention_kernels": trainer.attention_kernels or "",
            **metrics_before,
            **(_until_solved(trainer) if every else {}),
            **({"auxiliary": auxiliary} if (auxiliary := auxiliary_of(last)) else {}),
            **scores,
        },
        curve=curve,
        environment=environment(job.setup.execution),
        sample_outputs=outputs,
    )


def _until_solved(trainer: Trainer) -> dict[str, Any]:
    """What it took to solve the task, or how much was spent in vain."""
    return {
        "solved": trainer.solved,
        "examples_seen": trainer.examples,
        "budget": len(trainer.train) * trainer.training.epochs,
        "steps": trainer.step,
    }


def run_epochs(
    trainer: Trainer,
    file: Path,
    done: int,
    total: int,
    evaluate: Callable[[], Mapping[str, float]] = dict,
    solves: Callable[[Mapping[str, float]], bool] = lambda entry: False,
) -> Generator[Step, None, Curve]:
    """Train from the checkpoint in a file, or from the start, to the end; return the curve.

    Within an epoch that takes long its progress is reported too, so that the time left is known
    before it is over. done: epochs of the job before this training, of so many in total. evaluate:
    called for each entry of the curve, for what else it has. solves: of an entry; with
    ``evaluate_every`` the training ends where two in a row do. It then has no checkpoints, since it
    takes seconds, and one that diverges has not solved the task. Otherwise raises DivergedError as
    ``Trainer.run_epoch`` does.
    """
    every = trainer.training.evaluate_every
    curve = [] if every else checkpoint.restore(file, trainer)
    while not trainer.finished:
        before = done + trainer.epoch
        try:
            for part in trainer.epoch_in_parts(OFTEN):
                if isinstance(part, float):
                    yield Step(before + part, total)
                    continue
                curve.append({**part, **evaluate()})
                trainer.solved = every > 0 and len(curve) > 1 and all(map(solves, curve[-2:]))
                if not every and not trainer.finished:
                    checkpoint.save(file, trainer, curve)
                yield Step(done + trainer.epochs_done, total, part["loss"])
                if trainer.solved:
                    break
        except DivergedError:
            if not every:
                raise
            break
    return curve


def _fit(job: TrainJob, setup: TaskSetup, estimator: Estimator, deterministic: bool) -> Result:
    """Fit and score a baseline that fits itself, on the same data."""
    seed = derive(job.seed, "baseline")
    random.seed(seed)
    np.random.seed(seed % 2**32)  # scikit-learn's default generator
    start = time.perf_counter()
    with seeded(job.seed, "baseline"):  # torch's; predictions may draw too
        model = estimator.fit()
        seconds = time.perf_counter() - start
        evaluation = estimator.score(model)
    params = getattr(model, "parameters", None)  # of a module it is a method
    return Result(
        metrics={
            "params": params if isinstance(params, int | np.integer) else None,
            "train_seconds": seconds,
            **({"deterministic": True} if deterministic else {}),
            **_metrics(setup, evaluation),
        },
        environment=environment(job.setup.execution),
    )


def _metrics(setup: TaskSetup, evaluation: Evaluation) -> dict[str, Any]:
    """The task's metrics, also of every group, its other results, and the split that was scored."""
    metrics = setup.task.metrics_from(setup.registry, setup.scored_labels)
    values, groups = evaluation.values(metrics)
    return {
        "scored": "validation" if setup.training.validation else setup.task.scored_split,
        **values,
        **evaluation.details,
        **({"groups": groups} if groups else {}),
    }
