"""A request that is carried out: first it is prepared, then it is open in a directory."""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.base import Artifacts, Ended, Executor, Job, JobSetup, Limits, Result
from zoo.registry.cell import ModelParts
from zoo.registry.code_hash import plugin_modules
from zoo.registry.loading import Zoo
from zoo.sweep.complete import refuse_incomplete
from zoo.sweep.keys import code_of
from zoo.sweep.make_request import repeat_command
from zoo.sweep.plan import Plan, Row
from zoo.sweep.progress import Progress
from zoo.sweep.records import (
    FILE,
    REUSABLE,
    SCALE_FILE,
    Kind,
    Record,
    RecordFile,
    refuse_other_settings,
)
from zoo.tasks.base import Loaded

# What all records of one directory share, so that their rows can be in one table.
SHARED = ("task", "task_options", "data", "sizes", "training", "tuning", "execution", "pretraining")
SCALE_SHARED = ("task", "task_options", "over", "base", "training", "execution")


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A request that can be carried out.

    limits, environment: of trainings, on the machine that was inspected; cost_limits,
    cost_environment: of measurements there, which are alone. config: task, data, sizes, training
    and execution as resolved, for records. metrics: of the task, the one that ranks rows first.
    loaded: None where costs are measured at several lengths, on made-up texts.
    """

    request: Request
    zoo: Zoo
    plan: Plan
    executor: Executor
    progress: Progress
    setup: JobSetup
    limits: Limits
    cost_limits: Limits
    config: Mapping[str, Any]
    environment: Mapping[str, Any]
    cost_environment: Mapping[str, Any]
    metrics: tuple[MetricDescription, ...] = ()
    loaded: Loaded | None = None

    @contextlib.contextmanager
    def open(self, directory: Path, *, fresh: bool = False) -> Iterator[Run]:
        """Open a directory of records, to which no other process may write meanwhile.

        fresh: run again what is already there. Raises ZooError where it holds records of other data
        or settings.
        """
        self.progress.begins(directory, self.config)
        at_lengths = bool(self.request.lengths)
        file = RecordFile(directory, SCALE_FILE if at_lengths else FILE)
        with file.lock() as repaired:
            if repaired is not None:
                self.progress.notice(repaired)
            existing = file.read()
            defaults = {"task_options": self.plan.task.options().model_dump()}
            shared = SCALE_SHARED if at_lengths else SHARED
            refuse_other_settings(existing, self.config, shared, directory, defaults)
            if not at_lengths:
                refuse_incomplete(existing, directory)
            if fresh:
                Artifacts(directory).clear()
            yield Run(self, file, fresh, {r.key: r for r in existing if r.status in REUSABLE})

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

    def code(self, kind: Kind, row: Row) -> dict[str, str]:
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

    def command(self, model: ModelParts, training: Training, seed: int | None = None) -> str:
        """The command that repeats a training of a model, or with no seed its cost.

        It trains one model, which would by default have more threads, and with them other bits.
        """
        request = self.request
        alone = job_limits(request, self.executor).threads
        if seed is not None and self.limits.threads != alone:
            request = request.model_copy(update={"threads": self.limits.threads})
        return repeat_command(request, self.plan.task, model, training, seed)


@dataclass
class Run:
    """A run whose directory is open.

    fresh: nothing that is asked for is taken over. known: records that can be taken over, by key.
    records: of this request alone, those taken over included. trained, measured: how many models.
    """

    prepared: PreparedRun
    file: RecordFile
    fresh: bool
    known: Mapping[str, Record]
    records: list[Record] = field(default_factory=list)
    trained: int = 0
    measured: int = 0

    @property
    def failed(self) -> list[Record]:
        """Records of what should have run and did not end well."""
        return [r for r in self.records if r.status not in REUSABLE]

    def reuse(self, key: str, *, asked_for: bool) -> bool:
        """Take a known record over, if there is one; whether it was.

        asked_for: its phase is, so that with ``fresh`` it is run again.
        """
        reused = key in self.known and not (asked_for and self.fresh)
        if reused:
            self.records.append(self.known[key])
        return reused

    def record(
        self,
        kind: Kind,
        row: Row,
        key: str,
        training: Training,
        result: Result,
        seed: int | None = None,
        **rest: Any,
    ) -> None:
        """Write one record, at once. rest: other fields of it."""
        prepared = self.prepared
        measured = kind in ("cost", "scale")
        usual = prepared.cost_environment if measured else prepared.environment
        seconds = {"seconds": result.seconds} if result.seconds else {}
        fields = {
            "config": prepared.config_of(training),
            "metrics": {**result.metrics, **seconds},
            "samples": dict(result.samples),
            "curve": [dict(entry) for entry in result.curve],
            **rest,
        }
        if "command" not in fields:
            fields["command"] = prepared.command(row.model, training, seed)
        record = Record(
            kind=kind,
            status=result.status,
            reason=result.reason,
            traceback=result.traceback,
            # Of the machine that ran the job, where it came far enough to say.
            environment=dict(result.environment or usual),
            cell=row.cell_names,
            baseline=row.baseline_name,
            exact=row.exact,
            bidirectional=row.bidirectional,
            seed=seed,
            key=key,
            plugins=dict(plugin_modules([*row.choices, *prepared.plan.scoring]).keys()),
            code=prepared.code(kind, row),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            metric_descriptions=prepared.metrics,
            **fields,
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
        if not jobs:
            prepared.progress.phase(name, 0)
            return
        # First, for it may refuse the limits.
        events = prepared.executor.run(jobs, limits=limits, directory=self.file.directory)
        with contextlib.closing(events):  # at once when the run is interrupted: it stops the jobs
            prepared.progress.phase(name, len(jobs))
            for event in events:
                if isinstance(event, Ended):
                    ended(event.job, event.result)
                prepared.progress.event(event, prepared.metrics)


def job_limits(request: Request, executor: Executor, trainings: int = 1) -> Limits:
    """What jobs may use; what is not asked for is as the executor has it.

    trainings: as of ``Executor.default_limits``.
    """
    asked = Limits(jobs=request.jobs or 0, threads=request.threads, timeout=request.timeout)
    return executor.default_limits(asked, trainings)


def model_id(row: Row) -> dict[str, Any]:
    """What a row is, for keys."""
    return {"cell": row.cell_names, "baseline": row.baseline_name}
