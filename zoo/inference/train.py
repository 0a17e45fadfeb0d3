"""A model trained and saved: as ``zoo bench`` trains it, or the row of a run.

Torch is imported only to load the model back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.config.request import PARTS, Request, validated
from zoo.config.row_names import find_cell
from zoo.config.settings import Execution, flag
from zoo.errors import StoppedError, ZooError, listed
from zoo.execution.base import WEIGHTS, Job, Result, TrainJob
from zoo.files import scratch_directory
from zoo.inference.saved_model import (
    Card,
    SampleOutputs,
    draft,
    full_name,
    load_from,
    refuse_taken,
    versions_of,
    write,
)
from zoo.registry import AXES, Registry
from zoo.registry.cell import Cell
from zoo.registry.loading import Zoo
from zoo.report.run_report import RunReport
from zoo.sweep.keys import digest
from zoo.sweep.make_request import refuse_several_values, values_in
from zoo.sweep.plan import make_plan
from zoo.sweep.prepare import open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.records import Record, read_run
from zoo.sweep.run import PreparedRun
from zoo.tasks.base import find_task

if TYPE_CHECKING:
    from zoo.models.text_model import TextModel


class TrainingFailedError(StoppedError):
    """The training itself failed: out of memory, diverged, crashed, too slow."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"{result.status}: {result.reason}")
        self.add_note(result.traceback)


def train(
    request: Request,
    zoo: Zoo,
    progress: Progress,
    save: Path,
    seed: int = 0,
    *,
    on: str = "local",
    all_data: bool = False,
    fingerprint: str = "",
) -> TextModel:
    """Train the one cell of a request with a seed, write it to ``save``, and return it loaded.

    It is the model that ``zoo bench`` scores for that cell and seed; with all_data it is trained on
    every split instead, and has no score. fingerprint: of the data, where they must be these. What
    trackers write is under ``runs``. Raises ZooError where the request has several cells or cannot
    be carried out, and TrainingFailedError.
    """
    refuse_several_values(request, "zoo train")
    if all_data and request.training.validation:
        raise ZooError("--validation has no effect where all the data are trained on")
    if not 0 <= seed < 2**32:
        raise ZooError(f"seed {seed}: give a whole number from 0 to {2**32 - 1}")
    request = request.model_copy(update={"baseline": "none", "seeds": (seed,), "jobs": 1})
    plan = make_plan(request, zoo.registry)
    if len(plan.rows) > 1:
        many = [a for a in AXES if len({row.cell_names[a] for row in plan.rows}) > 1]
        raise ZooError(
            f"this trains one model, and there are several choices of {' and '.join(many)}; "
            "'zoo bench' compares them"
        )
    refuse_taken(save)
    with open_executor(zoo, on) as executor, scratch_directory() as scratch:
        prepared = PreparedRun(request, zoo, executor, progress)
        (row,) = prepared.plan.rows
        data = prepared.config["data"]
        if fingerprint and data["fingerprint"] != fingerprint:
            raise ZooError(
                f"data '{data['name']}' are not those of the run, they have changed since; --data "
                "takes the data to train on"
            )
        if all_data and prepared.loaded and request.task_options.get("class_weight"):
            encoded = prepared.loaded.encoded
            if others := encoded.label_names[len(encoded.trained_labels) :]:
                raise ZooError(f"--class-weight has no number for {listed(others)}")
        key = prepared.key("train", row, request.training, seed)
        job = TrainJob(
            prepared.setup,
            f"{row.name} seed {seed}",
            digest(["all data", key]) if all_data else key,
            row.model,
            seed,
            save_weights=True,
            all_data=all_data,
        )
        results: list[Result] = []
        models: list[TextModel] = []

        def ended(_: Job, result: Result) -> None:
            results.append(result)
            if result.status == "ok":
                models.append(_saved(prepared, job, result, save))

        with prepared.open(scratch) as run:  # the model is written whole, once it is trained
            shown_in = Path("runs") / f"{save.absolute().name}-{key[:8]}"
            progress.begins(shown_in, prepared.config)
            run.run_phase("train", [job], prepared.limits, ended)
        if not models:
            raise TrainingFailedError(results[0])
        return models[0]


def _saved(run: PreparedRun, job: TrainJob, result: Result, save: Path) -> TextModel:
    """Write the model, and load it from what was written before the directory exists."""
    assert run.loaded is not None
    weights, tokenizer = result.artifacts[WEIGHTS], run.loaded.encoded.tokenizer_path
    with draft(save) as directory:
        write(directory, _card(run, job, result), weights, tokenizer)
        try:
            return load_from(directory, run.zoo.registry)
        except ZooError as error:
            raise ZooError(f"trained, but not saved: it cannot be loaded: {error}") from error


def _card(run: PreparedRun, job: TrainJob, result: Result) -> Card:
    request, registry = run.request, run.zoo.registry
    assert run.loaded is not None
    encoded = run.loaded.encoded
    cell = Cell.resolve(registry, job.model)
    columns = encoded.split(*(encoded.splits if job.all_data else ["train"])).columns
    shares: Iterable[float] = ()
    labels = encoded.label_names if job.all_data else encoded.trained_labels
    if labels and "labels" in columns:
        counts = np.bincount(columns["labels"], minlength=len(labels))
        shares = counts / counts.sum()
    return Card(
        task=request.task,
        task_options=request.recorded_options,
        cell=str(cell),
        parts={axis: list(map(full_name, parts)) for axis, parts in cell.axes.items()},
        versions=versions_of((registry.choose("task", request.task), *cell.choices)),
        labels=labels,
        class_shares=tuple(shares),
        vocab_size=encoded.vocab_size,
        sizes=request.sizes,
        training=job.setup.training,
        pretraining=job.setup.pretraining,
        seed=job.seed,
        data=run.config["data"],
        metrics={name: value for name, value in result.metrics.items() if name != "errors"},
        metric_descriptions=run.metrics,
        sample_outputs=SampleOutputs(**result.sample_outputs),
        key=job.key,
        command=run.command(job.model, job.setup.training, job.seed),
    )


def find_training(directory: Path, name: str = "") -> Record:
    """The record of a run's row with this name, such as ``fused+sin``, of its lowest seed.

    name: empty: the row that the answer names. Raises ZooError where the directory holds no records
    of one data set, or no such trained cell.
    """
    run = RunReport(read_run(directory))
    row = run.best
    if name:
        trained = {row.name: row for row in run.recorded_rows if row.trained and not row.baseline}
        cells = {own: row.cell for own, row in trained.items()}
        row = trained[find_cell(cells, name, f"{directory}: --row")]
    if row is None:
        raise ZooError(f"{directory} has no trained cell")
    return row.trained[min(row.trained)]


def request_again(record: Record, changes: Mapping[str, Any], registry: Registry) -> Request:
    """The request that trains a row again: the record's settings, and the paths of its command.

    changes: where the data are, and how to execute it. Raises ZooError for another option, and
    where the task or a component is not here.
    """
    task = find_task(registry, record.task)
    changes = {name: value for name, value in changes.items() if value is not None}
    paths, run = ("data", "test"), ("data", "threads", "timeout")
    if wrong := changes.keys() - {*paths, *run, *Execution.model_fields}:
        raise ZooError(
            f"{listed(map(flag, sorted(wrong)))}: --from trains with the settings that the row "
            f"had; '{record.command}' takes others"
        )
    for name in paths:  # the command alone has them
        for path in values_in(record.command, f"--{name}"):
            changes.setdefault(name, path)
    # An option that was null in an earlier version and cannot be now has its default.
    recorded = dict[str, dict[str, Any]]()
    for part, model in {"task_options": task.options, **PARTS}.items():
        recorded[part] = {
            name: value
            for name, value in record.config.get(part, {}).items()
            if name in model.model_fields
            and (value is not None or model.model_fields[name].default is None)
        }
    recorded["training"].pop("validation", None)  # all the data are trained on
    recorded["execution"] |= {n: v for n, v in changes.items() if n in Execution.model_fields}
    if "test" in changes:
        recorded["task_options"]["test"] = changes["test"]
    options = validated(task.options, recorded["task_options"]).model_dump(mode="json")
    asked: dict[str, Any] = {**record.cell, **recorded, "task": record.task}
    asked |= {name: changes[name] for name in run if name in changes}
    asked |= {"task_options": options, "plugins": tuple(values_in(record.command, "--plugin"))}
    request: Request = validated(Request, asked)
    return request
