"""One request that is being carried out: its plan and data, what runs its jobs, its records."""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.base import Artifacts, Ended, Executor, Job, JobSetup, Limits, ModelSpec, Result
from zoo.registry.code_hash import plugin_hashes
from zoo.registry.loading import Zoo
from zoo.sweep.complete import refuse_incomplete
from zoo.sweep.keys import code_of
from zoo.sweep.make_request import repeat_command
from zoo.sweep.plan import Plan, PlanRow
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, Kind, Record, RecordFile, refuse_other_settings
from zoo.tasks.base import Loaded

# What all records of one directory share, so that their rows can be in one table.
SHARED = ("task", "task_options", "data", "sizes", "training", "tuning", "execution", "pretraining")


@dataclass
class Run:
    """A request that can be carried out, and what it has come to.

    config: task, data, sizes, training and execution as resolved, for records. limits, environment:
    of trainings, on the machine that was inspected; cost_limits, cost_environment: of measurements
    there, which are alone and on a CPU have one thread. threaded: threads of a second measurement
    of speed; 0: there is none. loaded: None for made-up data.

    Once its directory is open (``at``): known: records that can be reused, by key. records: of this
    request alone, reused ones included. trained, measured: how many models.
    """

    request: Request
    zoo: Zoo
    plan: Plan
    executor: Executor
    progress: Progress
    setup: JobSetup
    limits: Limits
    cost_limits: Limits
    config: dict[str, Any]
    environment: Mapping[str, Any]
    cost_environment: Mapping[str, Any]
    threaded: int = 0
    loaded: Loaded | None = None
    file: RecordFile = field(default_factory=lambda: RecordFile(Path()))
    fresh: bool = False
    known: dict[str, Record] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    trained: int = 0
    measured: int = 0

    @property
    def directory(self) -> Path:
        return self.file.directory

    @property
    def data(self) -> Loaded:
        """Its data."""
        assert self.loaded is not None
        return self.loaded

    @property
    def failed(self) -> list[Record]:
        """Records of what should have run and did not end well."""
        return [r for r in self.records if r.status not in REUSABLE]

    @cached_property
    def metrics(self) -> tuple[MetricDescription, ...]:
        """Of the task, the one that ranks rows first; none for made-up data."""
        if self.loaded is None:
            return ()
        found = self.plan.task.metrics_from(self.zoo.registry, self.data.encoded.label_names)
        return ranked_by([metric.description for metric in found], self.request.metric)

    @contextlib.contextmanager
    def at(self, directory: Path, *, fresh: bool = False) -> Iterator[None]:
        """Open a directory of records, to which no other process may write meanwhile.

        fresh: run again what is already there. Raises ZooError where it holds records of other data
        or settings.
        """
        self.fresh = fresh
        self.progress.begins(directory, self.config)
        now = {"task_options": self.plan.task.options().model_dump()}
        with self.opened(RecordFile(directory), SHARED, now) as existing:
            refuse_incomplete(existing, directory)
            existing = self._ranked_again(existing)
            self.known = {r.key: r for r in existing if r.status in REUSABLE}
            if fresh:
                Artifacts(directory).clear()
            yield

    @contextlib.contextmanager
    def opened(
        self, file: RecordFile, shared: Sequence[str], defaults: Mapping[str, Any] | None = None
    ) -> Iterator[list[Record]]:
        """Open a file of records and yield them. shared, defaults: ``refuse_other_settings``."""
        self.file = file
        with file.lock():
            if file.repaired:
                self.progress.notice(file.repaired)
            existing = file.read()
            refuse_other_settings(existing, self.config, shared, file.directory, defaults)
            yield existing

    def _ranked_again(self, records: Sequence[Record]) -> list[Record]:
        """The records as if this run's metric had ranked their rows from the beginning.

        Reports take it from the last record in the file, which is therefore written again where it
        has another one. Not one of tuning, which would count twice.
        """
        name = self.metrics[0].name
        changed = [record.ranked_by(name) for record in records]
        last = next((r.metric_descriptions for r in records[::-1] if r.metric_descriptions), None)
        scored = [record for record in changed if record.kind != "tune"]
        if last and last[0].name != name and scored:
            self.file.append(scored[-1])
        return changed

    def config_of(self, training: Training) -> dict[str, Any]:
        """The config of a record whose model has these training settings."""
        return {**self.config, "training": training.model_dump()}

    def keyed(self, training: Training) -> dict[str, Any]:
        """That config without options at their defaults: a new option changes no key.

        Where a default changes, the hash of the task's code changes, or the data's fingerprint.
        """
        defaults = self.plan.task.options().model_dump(mode="json")
        options = self.config["task_options"].items()
        given = {name: value for name, value in options if value != defaults.get(name)}
        return {**self.config_of(training), "task_options": given}

    def code(self, kind: Kind, row: PlanRow) -> dict[str, str]:
        """The code that a record of this kind depends on; of a cost also that of the reference."""
        rows = [each for each in self.plan.rows if each.name == self.plan.reference]
        rows = [row, *rows] if kind == "cost" else [row]
        choices = [*itertools.chain(*(each.choices for each in rows)), *self.plan.scoring]
        choices = [each for each in choices if each.component.kind not in self.plan.task.unused]
        # A task that has none builds in its own module.
        builder = getattr(self.plan.task, "builder", "").partition(":")[0]
        trains = kind in ("train", "tune")
        pretrained = trains and bool(self.setup.pretraining.init)
        return code_of(kind, choices, *filter(None, [builder]), pretrained=pretrained)

    def command(self, model: ModelSpec, training: Training, seed: int | None = None) -> str:
        """The command that repeats a training of a model, or with no seed its cost.

        It trains one model, which would by default have more threads, and with them other bits.
        """
        request = self.request
        alone = job_limits(request, self.executor).threads
        if seed is not None and self.limits.threads != alone:
            request = request.model_copy(update={"threads": self.limits.threads})
        return repeat_command(request, self.plan.task, model, training, seed)

    def record(
        self,
        kind: Kind,
        row: PlanRow,
        key: str,
        training: Training,
        result: Result,
        seed: int | None = None,
        **rest: Any,
    ) -> None:
        """Write one record, at once. rest: other fields of it."""
        usual = self.cost_environment if kind == "cost" else self.environment
        seconds = {"seconds": result.seconds} if result.seconds else {}
        fields = {
            "config": self.config_of(training),
            "metrics": {**result.metrics, **seconds},
            "samples": dict(result.samples),
            "curve": [dict(entry) for entry in result.curve],
            **rest,
        }
        if "command" not in fields:
            fields["command"] = self.command(row.model, training, seed)
        bidirectional = row.cell is not None and row.cell.bidirectional(self.plan.needs)
        record = Record(
            kind=kind,
            status=result.status,
            reason=result.reason,
            traceback=result.traceback,
            # Of the machine that ran the job, where it came far enough to say.
            environment=dict(result.environment or usual),
            cell=dict(row.model.cell),
            baseline=row.model.baseline,
            exact=row.exact and not bidirectional,
            bidirectional=bidirectional,
            seed=seed,
            key=key,
            plugins=plugin_hashes([*row.choices, *self.plan.scoring]),
            code=self.code(kind, row),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            metric_descriptions=self.metrics,
            **fields,
        )
        self.records.append(record)  # first: Ctrl-C may come while the disk is waited for
        try:
            self.file.append(record)
        except Exception:
            self.records.pop()
            raise

    def reuse(self, key: str, wanted: bool) -> bool:
        """Take a known record over, if there is one and it is wanted; whether it was."""
        if found := wanted and key in self.known:
            self.records.append(self.known[key])
        return found

    def run_jobs(
        self, phase: str, jobs: Sequence[Job], ended: Callable[[Job, Result], None]
    ) -> None:
        """Run the jobs of a phase; ``ended`` has each result before anything else happens."""
        known = [r for r in self.records if r.kind == phase and r.status == "ok"]
        if known:
            self.progress.notice(f"{phase}: {len(known)} there already")
        if not jobs:
            self.progress.phase(phase, 0)
            return
        limits = self.cost_limits if phase == "cost" else self.limits
        self.execute(jobs, limits, ended, phase)

    def execute(
        self,
        jobs: Sequence[Job],
        limits: Limits,
        ended: Callable[[Job, Result], None],
        phase: str = "",
    ) -> None:
        """Run jobs. phase: a name to show, once the executor has accepted them."""
        events = self.executor.run(jobs, limits=limits, directory=self.directory)
        with contextlib.closing(events):  # at once when the run is interrupted: it stops the jobs
            if phase:
                self.progress.phase(phase, len(jobs))
            for event in events:
                if isinstance(event, Ended):
                    ended(event.job, event.result)
                self.progress.event(event, self.metrics)


def job_limits(request: Request, executor: Executor, trainings: int = 1) -> Limits:
    """What jobs may use; what is not asked for is as the executor has it.

    trainings: as of ``Executor.default_limits``.
    """
    asked = Limits(request.jobs or 0, request.threads, request.timeout)
    return executor.default_limits(asked, trainings)


def model_id(model: ModelSpec) -> dict[str, Any]:
    """What a row is, for keys."""
    return {"cell": dict(model.cell), "baseline": model.baseline}
