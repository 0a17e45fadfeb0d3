"""A model trained and saved: as ``zoo bench`` trains it, or the row of a run.

Torch is imported only to load the model back.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.config.flags import flag
from zoo.config.request import PARTS, Request
from zoo.errors import ZooError, nearest
from zoo.execution.base import WEIGHTS, Job, Result, TrainJob
from zoo.files import scratch_directory
from zoo.inference.card import Card, Part, SampleOutputs
from zoo.inference.requests import is_absent, with_saved_encoders
from zoo.inference.saved_model import TakenError, draft, refuse_taken, write
from zoo.registry import AXES, Choice, Registry
from zoo.registry.cell import Cell
from zoo.registry.loading import Zoo
from zoo.report.profile import read_profile
from zoo.report.rows import find_row
from zoo.report.run_report import RunReport
from zoo.sweep.complete import read_run
from zoo.sweep.keys import digest
from zoo.sweep.make_request import make_requests, refuse_several_values, values_in
from zoo.sweep.plan import make_plan
from zoo.sweep.prepare import open_executor, prepare_run
from zoo.sweep.progress import Progress
from zoo.sweep.records import Record
from zoo.sweep.run import PreparedRun
from zoo.sweep.train_rows import key_of_training
from zoo.tasks.base import find_task

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
        prepared = prepare_run(request, zoo, executor, progress, all_data=all_data)
        (row,) = prepared.plan.rows
        data = prepared.config["data"]
        if fingerprint and data["fingerprint"] != fingerprint:
            raise ZooError(
                f"data '{data['name']}' are not those of the run, they have changed since; --data "
                "takes the data to train on"
            )
        key = key_of_training(prepared, row, seed, request.training)
        if all_data:
            key = digest(["all data", key])
        job = TrainJob(
            prepared.setup,
            f"{row.name} seed {seed}",
            key,
            row.model,
            seed,
            save_weights=True,
            all_data=all_data,
        )
        results: list[Result] = []
        models: list[tuple[TextModel, Path]] = []

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


def _card(run: PreparedRun, job: TrainJob, result: Result) -> Card:
    request, registry, task = run.request, run.zoo.registry, run.plan.task
    assert run.loaded is not None
    encoded, config = run.loaded.encoded, run.config
    cell = Cell.resolve(registry, job.model)
    return Card(
        task=request.task,
        task_options=request.recorded_options,
        task_part=Part.of(registry.choose("task", request.task)),
        cell=str(cell),
        parts={axis: tuple(map(Part.of, parts)) for axis, parts in cell.axes.items()},
        labels=encoded.label_names,
        vocab_size=encoded.vocab_size,
        sizes=request.sizes,
        training=job.setup.training,
        pretraining=job.setup.pretraining,
        seed=job.seed,
        data=config["data"],
        execution=config["execution"],
        metrics={name: value for name, value in result.metrics.items() if name != "errors"},
        metric_descriptions=run.metrics,
        curve=[dict(entry) for entry in result.curve],
        sample_outputs=SampleOutputs(**result.sample_outputs),
        environment=dict(result.environment),
        key=job.key,
        command=run.command(job.model, job.setup.training, job.seed),
        pipeline_tag=task.pipeline_tag,
    )


def _saved(run: PreparedRun, job: TrainJob, result: Result, save: Path) -> tuple[TextModel, Path]:
    """Write the model to ``save``, or next to it with the first number that is free.

    It is loaded from what was written before the directory exists.
    """
    from zoo.inference.saved_model import load_from

    numbered = (save.with_name(f"{save.name}-{number}") for number in itertools.count(2))
    for place in itertools.chain([save], numbered):
        with contextlib.suppress(TakenError):
            with draft(place) as directory:
                _write(directory, run, job, result)
                try:
                    model = load_from(directory, run.zoo.registry)
                except ZooError as error:
                    reason = f"it cannot be loaded: {error}"
                    raise ZooError(f"trained, but not saved: {reason}") from error
            if place != save:
                taken = f"warning: {save} was made by something else during the training"
                run.progress.notice(f"{taken}; the model is in {place}")
            return model, place
    raise AssertionError("there is always a next number")


def _write(directory: Path, run: PreparedRun, job: TrainJob, result: Result) -> None:
    card = _card(run, job, result)
    assert run.loaded is not None
    write(directory, card, result.artifacts[WEIGHTS], run.loaded.encoded.tokenizer_path)


@dataclass(frozen=True)
class RunRow:
    """A trained cell of a run.

    record: of its training with the lowest seed. about: what the run's table says of it, in a line.
    """

    record: Record
    about: str

    @property
    def fingerprint(self) -> str:
        """Of the run's data."""
        return str(self.record.config["data"]["fingerprint"])

    @property
    def plugins(self) -> list[str]:
        """The single-file plug-ins that it was trained with."""
        return list(values_in(self.record.command, "--plugin"))

    def options(self, registry: Registry) -> dict[str, Any]:
        """The options of its training that are not the task's defaults, the chosen ones included.

        As a suite has them. They are the record's own settings: its command lacks what was a
        default when it was written. Raises ZooError where its task is not registered.
        """
        config, task = self.record.config, find_task(registry, self.record.task)
        options: dict[str, Any] = {"task": self.record.task}
        options |= {a: c for a, c in self.record.cell.items() if a not in task.unused}
        fields = [(part, model.model_fields) for part, model in PARTS.items()]
        for part, known in [*fields, ("task_options", task.options.model_fields)]:
            for name, value in config.get(part, {}).items():
                usual = task.defaults.get(name, known[name].default if name in known else None)
                if value != usual:
                    options[name] = value
        for name in ("data", "init", "test"):  # the command alone has their paths
            if paths := list(values_in(self.record.command, f"--{name.replace('_', '-')}")):
                options[name] = paths[-1]
        options.pop("validation", None)  # a share held out has no use where all data are trained on
        return options | ({"plugins": self.plugins} if self.plugins else {})

    def request(self, given: Mapping[str, Any], registry: Registry) -> Request:
        """The request that trains it again; given: where its data are, and how to execute it.

        Raises ZooError as ``make_requests`` does, for an option that contradicts the row's
        settings, and where the saved encoder that it began with has changed since.
        """
        given = {name: value for name, value in given.items() if not is_absent(value)}
        own = self.options(registry)
        made, as_recorded = make_requests(given, registry, own), make_requests({}, registry, own)
        if len(made) > 1:
            raise ZooError(f"this trains one model, on one data set, not {len(made)}")
        before, after = _settings(as_recorded[0]), _settings(made[0])
        if wrong := [flag(name) for name in after if after[name] != before.get(name)]:
            raise ZooError(
                f"{' and '.join(wrong)}: --from trains with the settings that the row had; "
                f"'{self.record.command}' takes others"
            )
        (request,) = with_saved_encoders(made, registry)
        known = self.record.config.get("pretraining", {}).get("init")
        if request.initial is not None and request.initial.name != known:
            raise ZooError(
                f"--init {request.pretraining.init} is not what the run began with ({known}): it "
                f"has changed since, and is now {request.initial.name}"
            )
        return request


def _settings(request: Request) -> dict[str, Any]:
    """What decides the model, by the name of its option; where the data are does not."""
    settings: dict[str, Any] = {"task": request.task, **request.recorded_options}
    settings |= {axis: getattr(request, axis) for axis in AXES}
    for part in ("sizes", "training", "pretraining"):
        settings |= getattr(request, part).model_dump()
    return {name: value for name, value in settings.items() if name != "init"}


def find_run_row(directory: Path, name: str = "") -> RunRow:
    """The row of a run with this name, such as ``fused+sin``; empty: the one that the answer names.

    Raises ZooError where the directory holds no records of one data set, or no such trained cell.
    """
    if profile := read_profile(directory):
        places = ", ".join(str(directory / data.directory) for data in profile.data_sets)
        raise ZooError(f"{directory} holds runs on several data sets: name one of {places}")
    run = RunReport(read_run(directory))
    trained = [row for row in run.recorded_rows if row.trained and not row.baseline]
    row = find_row(trained, name) if name else run.best
    if row is None and name:
        known = [run.short_name(row) for row in trained]
        raise ZooError(f"--row {name}: {directory} has no such trained cell{nearest(name, known)}")
    if row is None:
        raise ZooError(f"{directory} has no trained cell")
    return RunRow(row.trained[min(row.trained)], run.describe(run.position[row.name]))
