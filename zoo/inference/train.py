"""One model trained as a trial of ``zoo bench`` is, and kept. No torch here but in the worker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.execution.base import Trial
from zoo.execution.process import Worker, WorkerError
from zoo.inference.card import Card, Part, SampleOutputs
from zoo.inference.directory import draft, refuse_taken, write
from zoo.registry import AXES
from zoo.registry.loading import Zoo
from zoo.sweep.keys import plugin_hashes, trial_key
from zoo.sweep.plan import Planned, make_plan
from zoo.sweep.prepare import Prepared, prepare, scratch_log
from zoo.sweep.progress import Progress
from zoo.sweep.repeat_command import repeat_command
from zoo.tasks.catalog import find_task

if TYPE_CHECKING:
    from zoo.inference.load import Kept


class TrainingFailedError(Exception):
    """The training itself went wrong: out of memory, diverged, crashed, too slow."""


def train(request: Request, zoo: Zoo, progress: Progress, save: Path, seed: int = 0) -> Kept:
    """Train the one cell of a request with a seed, write it to ``save``, and return it loaded.

    It is the very model that ``zoo bench`` scores for that cell and seed. Raises ZooError where
    the request is not for one cell or cannot be carried out, and TrainingFailedError.
    """
    request = request.model_copy(update={"baseline": "none", "seeds": (seed,), "jobs": 1})
    row = _only_row(request, zoo)
    refuse_taken(save)
    with scratch_log() as log:
        prepared = prepare(request, zoo, progress, log, [row])
        weights = log.with_name("weights.safetensors")
        result = _trained(request, prepared, row, seed, weights, log, progress)
        return _kept(_card(request, prepared, row, seed, result), prepared, weights, zoo, save)


def _only_row(request: Request, zoo: Zoo) -> Planned:
    rows = make_plan(request, zoo.registry).rows
    if len(rows) > 1:
        many = [axis for axis in AXES if len({str(getattr(row.cell, axis)) for row in rows}) > 1]
        raise ZooError(
            f"this trains one model, and there are several choices of {' and '.join(many)}; "
            "'zoo bench' compares them"
        )
    return rows[0]


def _trained(
    request: Request,
    prepared: Prepared,
    row: Planned,
    seed: int,
    weights: Path,
    log: Path,
    progress: Progress,
) -> dict[str, Any]:
    """What the worker tells of the trial whose weights it has written."""
    label, epochs = f"{row.name} seed {seed}", request.training.epochs
    trial = Trial(prepared.setting, row.subject, seed, weights=str(weights))
    progress.phase("trials", 1)
    progress.started(label, epochs)
    try:
        with Worker(prepared.setting.threads, log, request.memory_limit) as worker:
            result: dict[str, Any] = worker.call(
                "trial",
                trial,
                timeout=request.timeout,
                progress=lambda body: progress.epoch(label, body["epoch"], body["loss"]),
            )
    except WorkerError as failure:
        raise TrainingFailedError(f"{failure.status}: {failure.reason}") from failure
    progress.ended(label, "ok", "", result)
    return result


def _card(
    request: Request, prepared: Prepared, row: Planned, seed: int, result: Mapping[str, Any]
) -> Card:
    assert row.cell is not None
    config, metrics = prepared.config, result["metrics"]
    return Card(
        task=find_task(request.task).name,
        cell=str(row.cell),
        parts={axis: Part.of(getattr(row.cell, axis)) for axis in AXES},
        labels=prepared.encoded.label_names,
        vocab_size=prepared.encoded.vocab_size,
        sizes=request.sizes,
        training=request.training,
        read_last=request.read_last,
        seed=seed,
        data=config["data"],
        execution=config["execution"],
        scores={name: value for name, value in metrics.items() if name != "errors"},
        curve=result["curve"],
        witness=SampleOutputs(**result["witness"]),
        environment=prepared.environment,
        key=trial_key(row.subject, seed, config, plugin_hashes(row.choices)),
        command=repeat_command(request, row.subject, seed),
    )


def _kept(card: Card, prepared: Prepared, weights: Path, zoo: Zoo, save: Path) -> Kept:
    """Written, and loaded from what was written before anybody else sees it."""
    from zoo.inference.load import load_from

    with draft(save) as directory:
        write(directory, card, weights, prepared.encoded.tokenizer_path)
        try:
            return load_from(directory, zoo.registry)
        except ZooError as error:
            raise ZooError(f"trained, but not kept, for it could not be loaded: {error}") from error
