"""A request that is carried out: first it is prepared, then it is open in a directory."""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Request
from zoo.config.settings import Training, spelt
from zoo.errors import ZooError, counted
from zoo.execution.base import Ended, Executor, Job, Limits, Result, TrainJob
from zoo.registry.cell import ModelParts
from zoo.registry.code_hash import plugin_modules
from zoo.registry.loading import Zoo
from zoo.sweep.keys import code_of, digest, result_key
from zoo.sweep.make_request import repeat_command
from zoo.sweep.plan import PlanRow, make_plan
from zoo.sweep.prepare import inspect, job_setup, recorded_config
from zoo.sweep.progress import Progress
from zoo.sweep.records import (
    FILE,
    REUSABLE,
    SCALE_FILE,
    Kind,
    Record,
    RecordFile,
    other_settings,
    refuse_mixed,
)
from zoo.tasks.base import Loaded

# What all records of one directory share, so that their rows can be in one table. Tuning is before
# training, which has values of its own where one of each is tried.
SHARED = ("task", "task_options", "data", "sizes", "tuning", "training", "execution", "pretraining")
SCALE_SHARED = ("task", "task_options", "base", "training", "execution")


class PreparedRun:
    """A request that can be carried out: its plan is made, and its data are loaded.

    setup: of all jobs. limits: of trainings; cost_limits: of measurements, which are alone. config:
    task, data, sizes, training and execution as resolved, for records. environment: of the machine
    that was inspected. metrics: of the task, the one that ranks rows first. loaded: None where
    costs are measured at several lengths, on made-up texts. Raises ZooError for anything asked for
    that cannot be had.
    """

    def __init__(self, request: Request, zoo: Zoo, executor: Executor, progress: Progress) -> None:
        at_lengths = bool(request.lengths)
        self.request, self.zoo, self.executor, self.progress = request, zoo, executor, progress
        self.plan = plan = make_plan(request, zoo.registry)
        alone = self._limits()  # before the data: it may refuse what was asked for
        self.loaded: Loaded | None = None
        self.metrics: tuple[MetricDescription, ...] = ()
        if not at_lengths:
            options = plan.task.options.model_validate(request.task_options)
            loaded = plan.task.load(request.data, options, request.sizes, zoo.registry)
            remarks = loaded.description.get("remarks", [])  # the report says them
            if notices := [n for n in dict.fromkeys(loaded.notices) if n not in remarks]:
                progress.notice("; ".join(notices))
            every, epochs = request.training.evaluate_every, request.training.epochs
            if every and (examples := loaded.description.get("train", 0) * epochs) <= every:
                progress.notice(
                    f"{spelt('evaluate_every', every)}: a training of {examples} examples is "
                    "evaluated once, and counts as solved after two evaluations in a row alone"
                )
            self.loaded, self.plan = loaded, plan.with_data(loaded.conditions)
            task_metrics = plan.task.metrics_from(zoo.registry, loaded.encoded.label_names)
            self.metrics = ranked_by([m.description for m in task_metrics], request.metric)
        setup = job_setup(request, plan, zoo, self.loaded)
        self.environment, self.setup = inspect(executor, setup, alone.threads, progress)
        self.limits = self.cost_limits = alone
        if self.setup.execution.device == "cpu":
            # Trainings share the cores; a baseline that is fitted in seconds is none.
            trainings = sum(row.trainable for row, _, _ in plan.all_trainings())
            self.limits = self._limits(trainings)
            self.cost_limits = replace(alone, threads=request.threads or 1)
        self.config = recorded_config(request, self.loaded)
        self.config["execution"] = self.setup.execution.model_dump(exclude={"device"})
        if setup.pretraining.init:
            self.config["pretraining"] = setup.pretraining.model_dump()

    def _limits(self, trainings: int = 1) -> Limits:
        """What jobs may use; what is not asked for is as the executor has it."""
        request = self.request
        asked = Limits(jobs=request.jobs or 0, threads=request.threads, timeout=request.timeout)
        return self.executor.default_limits(asked, trainings)

    @contextlib.contextmanager
    def open(self, directory: Path) -> Iterator[Run]:
        """Open a directory of records, to which no other process may write meanwhile.

        Raises ZooError where it holds records of other data or settings.
        """
        self.progress.begins(directory, self.config)
        at_lengths = bool(self.request.lengths)
        file = RecordFile(directory, SCALE_FILE if at_lengths else FILE)
        with file.lock() as removed:
            if removed:
                self.progress.notice(removed)
            existing = file.read()
            if not at_lengths:
                refuse_mixed(existing, directory)
            shared, options = SCALE_SHARED if at_lengths else SHARED, self.plan.task.options()
            # A directory may hold more cells and seeds, but not other data or settings.
            if misfit := other_settings(existing, self.config, shared, options.model_dump()):
                raise ZooError(
                    f"--out {directory} holds records of {misfit}; choose another directory"
                )
            yield Run(self, file, {r.key: r for r in existing if r.status in REUSABLE})

    def environment_of(self, kind: Kind) -> dict[str, Any]:
        """The environment of records of this kind, where no other machine runs their jobs."""
        limits = self.cost_limits if kind in ("cost", "scale") else self.limits
        return {**self.environment, "threads": limits.threads}

    def key(self, kind: Kind, row: PlanRow, training: Training, *more: Any) -> str:
        """The key of a record. more: what else it depends on, such as the seed.

        Options at their defaults are left out, so that a new option changes no key. Where a default
        changes, the hash of the task's code changes, or the data's fingerprint.
        """
        defaults = self.plan.task.options().model_dump(mode="json")
        options = self.config["task_options"].items()
        changed = {name: value for name, value in options if value != defaults.get(name)}
        model = {"cell": row.cell_names, "baseline": row.baseline_name}
        config = {**self.config, "training": training.model_dump(), "task_options": changed}
        return result_key(
            kind, model, config, self.code(kind, row), self.environment_of(kind), *more
        )

    def code(self, kind: Kind, row: PlanRow) -> dict[str, str]:
        """The code that a record of this kind depends on; of a cost also that of the reference."""
        rows = [each for each in self.plan.rows if each.name == self.plan.reference]
        rows = [row, *rows] if kind == "cost" else [row]
        choices = [*itertools.chain(*(each.choices for each in rows)), *self.plan.scoring]
        choices = [each for each in choices if each.component.kind not in self.plan.task.unused]
        # A task that has none builds in its own module.
        builder = getattr(self.plan.task, "builder", "").partition(":")[0]
        pretrained = kind in ("train", "tune") and bool(self.setup.pretraining.init)
        return code_of(kind, choices, *filter(None, [builder]), pretrained=pretrained)

    def command(self, model: ModelParts, training: Training, seed: int | None = None) -> str:
        """The command that repeats a training of a model, or with no seed its cost.

        It trains one model, which would by default have more threads, and with them other bits.
        """
        request = self.request
        if seed is not None and self.limits.threads != self._limits().threads:
            request = request.model_copy(update={"threads": self.limits.threads})
        return repeat_command(request, self.plan.task, model, training, seed)


@dataclass
class Run:
    """A run whose directory is open.

    known: records that can be taken over, by key. records: of this request alone, those taken over
    included. trained, measured: how many models.
    """

    prepared: PreparedRun
    file: RecordFile
    known: Mapping[str, Record]
    records: list[Record] = field(default_factory=list)
    trained: int = 0
    measured: int = 0

    def train_rows(self) -> dict[str, Training]:
        """Train every row that is not known; row name to the settings chosen for it.

        Where the request has no such phase, nothing is trained, and what is there is taken over.
        To choose settings, every row is trained with every combination of the values, with the same
        seeds, on a part of the training split. The scored split is not read before that.
        """
        request, plan = self.prepared.request, self.prepared.plan
        self._skip_rows()
        if request.chooses:
            self._train("tune", plan.tuning_trainings())
        chosen = plan.chosen_settings(self.records, self.prepared.metrics[0])
        self._train("train", plan.seed_trainings(chosen))
        return chosen

    def _skip_rows(self) -> None:
        """A record for every row that cannot run; why is said before anything is trained."""
        prepared = self.prepared
        skipped = [row for row in prepared.plan.rows if row.skip_reason]
        for reason, rows in Counter(row.skip_reason for row in skipped).items():
            prepared.progress.notice(f"{counted(rows, 'row')} skipped: {reason}")
        for row in skipped:
            key = digest(["skipped", row.name, row.skip_reason, prepared.config])
            if not self.reuse(key):
                result = Result("skipped", row.skip_reason)
                self.record("train", row, key, prepared.request.training, result)

    def _train(
        self, kind: Literal["tune", "train"], trainings: Iterable[tuple[PlanRow, int, Training]]
    ) -> None:
        """Carry out the trainings that are not known."""
        prepared = self.prepared
        asked_for = "train" in prepared.request.phases
        rows: dict[str, PlanRow] = {}  # by the key of the job
        jobs: list[TrainJob] = []
        for row, seed, training in trainings:
            key = prepared.key("train", row, training, seed)
            if self.reuse(key) or not asked_for:
                continue
            values = prepared.request.tuned if row.trainable else ()
            shown = "".join(f" {name}={getattr(training, name):g}" for name in values)
            setup = replace(prepared.setup, training=training)
            jobs.append(TrainJob(setup, f"{row.name} seed {seed}{shown}", key, row.model, seed))
            rows[key] = row

        def ended(job: Job, result: Result) -> None:
            assert isinstance(job, TrainJob)
            self.record(kind, rows[job.key], job.key, job.setup.training, result, job.seed)

        self.run_phase(kind, jobs, prepared.limits, ended)
        self.trained += len(jobs)

    def reuse(self, key: str) -> bool:
        """Take a known record over, if there is one; whether it was."""
        if key in self.known:
            self.records.append(self.known[key])
        return key in self.known

    def record(
        self,
        kind: Kind,
        row: PlanRow,
        key: str,
        training: Training,
        result: Result,
        seed: int | None = None,
        **config: Any,
    ) -> None:
        """Write one record, at once. config: further entries of its config."""
        prepared = self.prepared
        seconds = {"seconds": result.seconds} if result.seconds else {}
        metrics, curve = {**result.metrics, **seconds}, [dict(entry) for entry in result.curve]
        if training.evaluate_every:  # thousands of records, which are compared by examples alone
            metrics.pop("errors", None)
            curve = [{name: round(value, 5) for name, value in entry.items()} for entry in curve]
        record = Record(
            kind=kind,
            status=result.status,
            reason=result.reason,
            traceback=result.traceback,
            # Of the machine that ran the job, where it came far enough to say.
            environment=dict(result.environment or prepared.environment_of(kind)),
            cell=row.cell_names,
            baseline=row.baseline_name,
            exact=row.exact,
            bidirectional=row.bidirectional,
            seed=seed,
            key=key,
            config={**prepared.config, "training": training.model_dump(), **config},
            metrics=metrics,
            samples=dict(result.samples),
            curve=curve,
            command=prepared.command(row.model, training, seed),
            plugins=dict(plugin_modules([*row.choices, *prepared.plan.scoring]).keys()),
            code=prepared.code(kind, row),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            metric_descriptions=prepared.metrics,
        )
        self.records.append(record)  # first: Ctrl-C may come while the disk is waited for
        try:
            self.file.append(record)
        except Exception:
            self.records.pop()
            raise

    def run_phase(
        self, name: str, jobs: Sequence[Job], limits: Limits, ended: Callable[[Job, Result], None]
    ) -> None:
        """Run the jobs of a phase; ``ended`` has each result before anything else happens."""
        prepared = self.prepared
        there = sum(record.kind == name and record.status == "ok" for record in self.records)
        if there:
            prepared.progress.notice(f"{name}: {there} there already")
        prepared.progress.phase(name, len(jobs))
        if not jobs:
            return
        events = prepared.executor.run(jobs, limits=limits, directory=self.file.directory)
        with contextlib.closing(events):  # at once when the run is interrupted: it stops the jobs
            for event in events:
                if isinstance(event, Ended):
                    ended(event.job, event.result)
                prepared.progress.event(event, prepared.metrics)
