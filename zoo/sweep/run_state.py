"""The state of one run: its request, what is known already, and the records it writes."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.errors import ZooError
from zoo.execution.base import Executor, Job, ModelSpec, Result
from zoo.registry.code_hash import plugin_hashes
from zoo.registry.loading import Zoo
from zoo.sweep.keys import digest
from zoo.sweep.plan import Plan, PlanRow, make_plan
from zoo.sweep.prepare import (
    Prepared,
    inspect,
    job_limits,
    job_setup,
    load_data,
    prepare,
    run_jobs,
)
from zoo.sweep.progress import Progress
from zoo.sweep.records import Kind, Record, RecordFile, Status
from zoo.sweep.refusals import trial_models, with_refusals
from zoo.sweep.repeat_command import repeat_command
from zoo.tasks.data_of_task import refuse_missing, small_files


@dataclass(frozen=True)
class Work:
    """A request that can be carried out: its plan, its data, and what runs its jobs."""

    request: Request
    zoo: Zoo
    plan: Plan
    prepared: Prepared
    executor: Executor
    progress: Progress

    def command(self, model: ModelSpec, training: Training, seed: int | None = None) -> str:
        """The command that repeats a training of a model, or with no seed its cost.

        It trains one model, which would by default have more threads, and with them other bits.
        """
        request, prepared = self.request, self.prepared
        if seed is not None and prepared.limits.threads != prepared.cost_limits.threads:
            request = request.model_copy(update={"threads": prepared.limits.threads})
        return repeat_command(request, self.plan.task, model, training, seed)


def prepare_work(
    request: Request, zoo: Zoo, executor: Executor, progress: Progress, collect: bool
) -> Work:
    """Plan a request and load its data.

    collect: nothing is going to run, so no model is built to see that it can be. Raises ZooError
    for anything asked for that cannot be had.
    """
    plan = make_plan(request, zoo.registry)
    inspected = [] if collect else plan.runnable
    trials = () if collect else trial_models(plan)
    try:
        prepared = prepare(request, plan, zoo, executor, progress, inspected, trials)
    except ZooError as error:
        if collect and type(error) is ZooError:
            raise ZooError(f"{error}. zoo report DIR shows records without their data") from None
        raise
    plan = with_refusals(plan.with_data(prepared.loaded.conditions), prepared.refused)
    return Work(request, zoo, plan, prepared, executor, progress)


def tried_plan(request: Request, zoo: Zoo, executor: Executor) -> Plan:
    """The plan with what components refuse, tried by the executor.

    Of data, only small files are read. On a cluster the nodes have described themselves afterwards
    (``Node.problem``). Raises ZooError for data that do not exist, and for small files that cannot
    be used.
    """
    plan = make_plan(request, zoo.registry)
    refuse_missing(zoo.registry, plan.task, request.data)
    if (test := request.task_options.get("test")) and not Path(test).expanduser().exists():
        raise ZooError(f"--test {test}: no such file or directory")
    if small_files(zoo.registry, request.data):
        plan = plan.with_data(load_data(request, plan, zoo).conditions)
    trials = trial_models(plan)
    if not trials and executor.nodes() is None:
        return plan
    setup, limits = job_setup(request, plan, zoo, None), job_limits(request, executor)
    _, _, refused = inspect(executor, setup, limits, Progress(), [], trials)
    return with_refusals(plan, refused)


@dataclass
class RunState:
    """What the phases of one run share.

    known: records that can be reused, by key. of_other_code: where nothing is run, what is there,
    by ``what_of``: everything that a key is of but the code and the machine. read: those that were
    taken from it.
    """

    work: Work
    file: RecordFile
    descriptions: tuple[MetricDescription, ...]
    known: dict[str, Record] = field(default_factory=dict)
    of_other_code: dict[str, Record] = field(default_factory=dict)
    read: list[Record] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        return self.file.directory

    @property
    def request(self) -> Request:
        return self.work.request

    @property
    def plan(self) -> Plan:
        return self.work.plan

    @property
    def metrics(self) -> tuple[MetricDescription, ...]:
        return ranked_by(self.descriptions, self.request.metric)

    @property
    def prepared(self) -> Prepared:
        return self.work.prepared

    def environment(self, phase: str) -> Mapping[str, Any]:
        """That of the machine that was inspected, with the threads of this phase's jobs."""
        prepared = self.prepared
        return prepared.cost_environment if phase == "cost" else prepared.environment

    def config(self, training: Training) -> dict[str, Any]:
        """The config of a record whose model has these training settings."""
        return {**self.prepared.config, "training": training.model_dump()}

    def record(
        self,
        kind: Kind,
        row: PlanRow,
        key: str,
        training: Training,
        status: Status,
        reason: str = "",
        seed: int | None = None,
        **rest: Any,
    ) -> None:
        """Write one record, at once."""
        rest.setdefault("environment", dict(self.environment(kind)))
        record = Record(
            kind=kind,
            status=status,
            reason=reason,
            cell=dict(row.model.cell),
            baseline=row.model.baseline,
            seed=seed,
            key=key,
            config=self.config(training),
            metric_descriptions=self.descriptions,
            plugins=plugin_hashes([*row.choices, *self.plan.scoring]),
            command=self.work.command(row.model, training, seed),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            **rest,
        )
        self.file.append(record)
        self.records.append(record)

    def reuse(self, key: str, wanted: bool, what: str = "") -> bool:
        """Take a known record over, if there is one and it is wanted; whether it was.

        what: ``what_of`` the result, where that of other code will do as well.
        """
        if not wanted:
            return False
        record = self.known.get(key)
        if record is None:
            record = self.of_other_code.get(what)
            if record is None:
                return False
            self.read.append(record)
        self.records.append(record)
        return True

    def replace(self, record: Record, **changes: Any) -> None:
        """Write a record of this run again with these changes; the later one counts."""
        changed = record.model_copy(update=changes)
        self.file.append(changed)
        self.records[self.records.index(record)] = changed

    def run_jobs(
        self, phase: str, jobs: Sequence[Job], ended: Callable[[Job, Result], None]
    ) -> None:
        """Run jobs; each result is recorded at once."""
        progress = self.work.progress
        known = [r for r in self.records if r.kind == phase and r.status == "ok"]
        if known:
            progress.notice(f"{phase}: {len(known)} there already")
        if not jobs:
            progress.phase(phase, 0)
            return
        if note := threads_note(known, self.environment(phase)):
            progress.notice(f"{phase}: {note}")
        prepared, directory = self.prepared, self.directory
        limits = prepared.cost_limits if phase == "cost" else prepared.limits
        executor = self.work.executor
        run_jobs(executor, jobs, limits, directory, progress, ended, self.metrics, phase)


def what_of(kind: str, model: Mapping[str, Any], seed: int | None, training: Training) -> str:
    """What a result is of, among those of one directory. model: as of ``identity``."""
    return digest([kind, model, seed, training.model_dump()])


def what_was(record: Record) -> str:
    """The same, of a record: settings that it is older than had their present defaults."""
    model = {"cell": record.cell, "baseline": record.baseline}
    return what_of(record.kind, model, record.seed, Training(**record.config["training"]))


def identity(row: PlanRow) -> dict[str, Any]:
    """What a row is, for keys."""
    return {"cell": dict(row.model.cell), "baseline": row.model.baseline}


def environment_of(result: Result) -> dict[str, Any]:
    """The environment of the machine that ran a job, where the job came far enough to say."""
    return {"environment": dict(result.environment)} if result.environment else {}


def threads_note(known: Sequence[Record], environment: Mapping[str, Any]) -> str:
    """That trainings which are there already had another number of threads; empty if none had.

    environment: of those that are to come. The order of additions, and with it the last digits of
    scores, depends on the threads; on other devices than the CPU it does not.
    """
    now = environment.get("threads")
    then = {record.environment.get("threads", now) for record in known} - {now}
    if environment.get("device") != "cpu" or not then:
        return ""
    others = " or ".join(sorted(map(str, then)))
    return (
        f"models that are there already were trained with --threads {others}, the others get "
        f"{now}; the last digits of scores depend on it"
    )
