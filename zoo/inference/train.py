"""One model trained as ``zoo bench`` trains it, and saved. Torch is imported to load it back."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.execution.base import WEIGHTS, Ended, Result, TrainJob
from zoo.inference.card import Card, Part, SampleOutputs
from zoo.inference.directory import TakenError, draft, refuse_taken, write
from zoo.inference.hub_card import write_card_files
from zoo.registry import AXES, Choice
from zoo.registry.cell import Cell
from zoo.registry.code_hash import plugin_hashes
from zoo.registry.loading import Zoo
from zoo.sweep.keys import digest, training_key
from zoo.sweep.make_request import refuse_several_values
from zoo.sweep.plan import make_plan
from zoo.sweep.prepare import open_executor, prepare
from zoo.sweep.progress import Progress
from zoo.sweep.run_state import Work

if TYPE_CHECKING:
    from zoo.models.text_model import TextModel


class TrainingFailedError(Exception):
    """The training itself failed: out of memory, diverged, crashed, too slow."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"{result.status}: {result.reason}")
        self.traceback = result.traceback


def train(
    request: Request,
    zoo: Zoo,
    progress: Progress,
    save: Path,
    seed: int = 0,
    *,
    on: str | Choice = "local",
    all_data: bool = False,
    fingerprint: str = "",
) -> tuple[TextModel, Path]:
    """Train the one cell of a request with a seed, and write it to ``save``.

    Returns it loaded, and where it is: next to ``save``, with a number, where something else has
    made that directory during the training. What trackers write is under ``runs``.

    It is the model that ``zoo bench`` scores for that cell and seed; with all_data it is trained on
    every split instead, and has no score. fingerprint: of the data, where they must be these.
    Raises ZooError where the request has several cells or cannot be carried out, and
    TrainingFailedError.
    """
    refuse_several_values(request, "zoo train")
    if all_data and request.training.validation:
        raise ZooError("--validation has no effect where all the data are trained on")
    request = request.model_copy(update={"baseline": "none", "seeds": (seed,), "jobs": 1})
    plan = make_plan(request, zoo.registry)
    if len(plan.rows) > 1:
        many = [a for a in AXES if len({row.model.cell[a] for row in plan.rows}) > 1]
        raise ZooError(
            f"this trains one model, and there are several choices of {' and '.join(many)}; "
            "'zoo bench' compares them"
        )
    refuse_taken(save)
    with (
        open_executor(zoo, on) as executor,
        tempfile.TemporaryDirectory(prefix="zoo-") as scratch,
    ):
        prepared = prepare(request, plan, zoo, executor, progress, plan.rows, all_data=all_data)
        row = plan.rows[0]
        data = prepared.config["data"]
        if fingerprint and data["fingerprint"] != fingerprint:
            raise ZooError(
                f"data '{data['name']}' are not those of the run, they have changed since; --data "
                "takes the data to train on"
            )
        identity = {"cell": dict(row.model.cell), "baseline": ""}
        hashes = plugin_hashes([*row.choices, *plan.scoring])
        key = training_key(identity, seed, prepared.config, hashes)
        name = f"{row.name} seed {seed}"
        if all_data:
            key = digest(["all data", key])
        job = TrainJob(prepared.setup, name, key, row.model, seed, True, all_data)
        labels = prepared.loaded.encoded.label_names
        metrics = [metric.description for metric in plan.task.metrics_from(zoo.registry, labels)]
        # Not in the model's directory, which is written whole at the end.
        progress.begins(Path("runs") / f"{save.absolute().name}-{key[:8]}", prepared.config)
        progress.phase("train", 1)
        with contextlib.closing(
            executor.run([job], limits=prepared.limits, directory=Path(scratch))
        ) as events:
            for event in events:
                progress.event(event, metrics)
                if isinstance(event, Ended):
                    if event.result.status != "ok":
                        raise TrainingFailedError(event.result)
                    work = Work(request, zoo, plan, prepared, executor, progress)
                    return _saved(work, job, event.result, save)
    raise RuntimeError(f"the executor '{on}' lost the job '{job.name}'")


def _card(work: Work, job: TrainJob, result: Result) -> Card:
    request, zoo, plan, prepared = work.request, work.zoo, work.plan, work.prepared
    encoded, config = prepared.loaded.encoded, prepared.config
    cell = Cell.parse(zoo.registry, job.model.cell)
    metrics = plan.task.metrics_from(zoo.registry, encoded.label_names)
    return Card(
        task=request.task,
        task_options=request.recorded_options,
        task_part=Part.of(zoo.registry.choose("task", request.task)),
        cell=job.model.name,
        parts={axis: tuple(map(Part.of, getattr(cell, axis))) for axis in AXES},
        labels=encoded.label_names,
        vocab_size=encoded.vocab_size,
        sizes=request.sizes,
        training=job.setup.training,
        pretraining=job.setup.pretraining,
        seed=job.seed,
        data=config["data"],
        execution=config["execution"],
        metrics={name: value for name, value in result.metrics.items() if name != "errors"},
        metric_descriptions=tuple(m.description for m in metrics),
        curve=[dict(entry) for entry in result.curve],
        sample_outputs=SampleOutputs(**result.sample_outputs),
        environment=dict(result.environment),
        key=job.key,
        command=work.command(job.model, job.setup.training, job.seed),
        pipeline_tag=plan.task.pipeline_tag,
    )


def write_model(work: Work, job: TrainJob, result: Result, directory: Path) -> None:
    """Write the model of a job that kept its weights into a new directory, without loading it."""
    with draft(directory) as folder:
        _write(folder, work, job, result)


def _saved(work: Work, job: TrainJob, result: Result, save: Path) -> tuple[TextModel, Path]:
    """Write the model to ``save``, or next to it with the first number that is free."""
    numbered = (save.with_name(f"{save.name}-{number}") for number in itertools.count(2))
    for place in itertools.chain([save], numbered):
        with contextlib.suppress(TakenError):
            model = _written(work, job, result, place)
            if place != save:
                taken = f"warning: {save} was made by something else during the training"
                work.progress.notice(f"{taken}; the model is in {place}")
            return model, place
    raise AssertionError("there is always a next number")


def _written(work: Work, job: TrainJob, result: Result, save: Path) -> TextModel:
    """Write the model, and load it from what was written before the directory exists."""
    from zoo.inference.load import load_from

    with draft(save) as directory:
        _write(directory, work, job, result)
        try:
            return load_from(directory, work.zoo.registry)
        except ZooError as error:
            raise ZooError(f"trained, but not saved: it cannot be loaded: {error}") from error


def _write(directory: Path, work: Work, job: TrainJob, result: Result) -> None:
    card, tokenizer = _card(work, job, result), work.prepared.loaded.encoded.tokenizer_path
    write(directory, card, result.artifacts[WEIGHTS], tokenizer)
    write_card_files(directory, card)
