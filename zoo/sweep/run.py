"""A request becomes records: plan, data, trainings, cost measurements."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Request
from zoo.execution.artifacts import Artifacts
from zoo.execution.base import CostJob, CostMember, Ended, Executor, Job, Result, TrainJob
from zoo.registry.loading import Zoo
from zoo.sweep.keys import cost_key, digest, plugin_hashes, training_key
from zoo.sweep.plan import Plan, PlanRow, make_plan
from zoo.sweep.prepare import Prepared, open_executor, prepare
from zoo.sweep.progress import Progress
from zoo.sweep.records import Kind, Record, RecordFile, Status, refuse_other_settings
from zoo.sweep.repeat_command import repeat_command

# What all records of one directory share, so that their rows can be in one table.
SHARED = ("task", "task_options", "data", "sizes", "training", "execution")
GROUP_SIZE = 6  # models measured in turns besides the reference and its twin


@dataclass(frozen=True)
class Outcome:
    """What a run ended with. records: of this request alone, reused ones included."""

    plan: Plan
    records: list[Record]
    directory: Path
    trained: int
    measured: int

    @property
    def failed(self) -> list[Record]:
        """Records of what should have run and did not end well."""
        return [r for r in self.records if r.status not in ("ok", "skipped")]


@dataclass
class _Run:
    """What the steps of one run share. known: records that can be reused, by key."""

    request: Request
    zoo: Zoo
    plan: Plan
    prepared: Prepared
    executor: Executor
    file: RecordFile
    progress: Progress
    descriptions: tuple[MetricDescription, ...]
    known: dict[str, Record] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def record(
        self,
        kind: Kind,
        row: PlanRow,
        key: str,
        status: Status,
        reason: str = "",
        seed: int | None = None,
        **rest: Any,
    ) -> None:
        """Write one record, at once."""
        rest.setdefault("environment", dict(self.prepared.environment))
        record = Record(
            kind=kind,
            status=status,
            reason=reason,
            cell=dict(row.model.cell),
            baseline=row.model.baseline,
            seed=seed,
            key=key,
            config=self.prepared.config,
            metric_descriptions=self.descriptions,
            plugins=plugin_hashes([*row.choices, *self.plan.scoring]),
            command=repeat_command(self.request, self.plan.task, row.model, seed),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            **rest,
        )
        self.file.append(record)
        self.records.append(record)

    def reuse(self, key: str, wanted: bool) -> bool:
        """Take a known record over, if there is one and it is wanted; whether it was."""
        if not wanted or key not in self.known:
            return False
        self.records.append(self.known[key])
        return True


def run(
    request: Request,
    zoo: Zoo,
    progress: Progress,
    *,
    on: str = "local",
    out: Path | None = None,
    fresh: bool = False,
    collect: bool = False,
    finished: Callable[[Plan, Sequence[Record], Path], None] = lambda *_: None,
) -> Outcome:
    """Carry out a request and return its records.

    on: the executor. out: the directory of the records; by default one of its own for these data
    and settings, under ``runs``. fresh: run again what is already there. collect: run nothing,
    only read what is there. finished: called with the records at the end, however the run ends.
    Raises ZooError for anything asked for that cannot be had.
    """
    plan = make_plan(request, zoo.registry)
    with open_executor(zoo, on) as executor:
        inspected = [] if collect else plan.runnable
        prepared = prepare(request, plan.task, zoo, executor, progress, inspected)
        plan = plan.with_data(prepared.loaded.conditions)
        file = RecordFile(out or Path("runs") / _directory_name(prepared.config))
        metrics = plan.task.metrics_from(zoo.registry)
        descriptions = tuple(metric.description for metric in metrics)
        this = _Run(request, zoo, plan, prepared, executor, file, progress, descriptions)
        with file.lock():
            if file.repaired:
                progress.notice(file.repaired)
            existing = file.read()
            refuse_other_settings(existing, prepared.config, SHARED, file.directory)
            this.known = {r.key: r for r in existing if r.status in ("ok", "skipped")}
            trained = measured = 0
            try:
                _skipped(this)
                # A phase that was not asked for shows what is already there, as --collect does.
                trained = _train(this, collect or "train" not in request.phases, fresh)
                measured = _measure(this, collect or "cost" not in request.phases, fresh)
            finally:
                finished(plan, this.records, file.directory)
    return Outcome(plan, this.records, file.directory, trained, measured)


def _skipped(this: _Run) -> None:
    """A record for every row that cannot run."""
    for row in this.plan.rows:
        if not row.obstacle:
            continue
        key = digest(["skipped", _identity(row), row.obstacle, this.prepared.config])
        if not this.reuse(key, True):
            this.record("train", row, key, "skipped", row.obstacle)


def _train(this: _Run, only_known: bool, fresh: bool) -> int:
    """Train every row with every seed that is not known; how many were trained."""
    jobs: list[Job] = []
    rows: dict[str, tuple[PlanRow, int]] = {}
    # Seeds outermost: an interrupted run then has whole rounds of cells to compare.
    for seed in this.request.seeds:
        for row in this.plan.runnable:
            if not row.trained_with(seed, this.request.seeds):
                continue
            config = this.prepared.config
            key = training_key(
                _identity(row), seed, config, plugin_hashes([*row.choices, *this.plan.scoring])
            )
            if not this.reuse(key, only_known or not fresh) and not only_known:
                name = f"{row.name} seed {seed}"
                jobs.append(TrainJob(this.prepared.setup, name, key, model=row.model, seed=seed))
                rows[key] = row, seed
    if fresh and not only_known:
        Artifacts(this.file.directory).clear()

    def ended(job: Job, result: Result) -> None:
        row, seed = rows[job.key]
        this.record(
            "train",
            row,
            job.key,
            result.status,
            result.reason,
            seed,
            metrics={**result.metrics, "seconds": result.seconds},
            curve=[dict(entry) for entry in result.curve],
            traceback=result.traceback,
            **_environment(result),
        )

    _run_jobs(this, "train", jobs, ended)
    return len(jobs)


def _measure(this: _Run, only_known: bool, fresh: bool) -> int:
    """Measure the cost of every row that is not known; how many were measured."""
    rows: list[PlanRow] = []
    keys: dict[str, str] = {}
    reference = next(r for r in this.plan.rows if r.name == this.plan.reference)
    for row in this.plan.runnable:
        plugins = plugin_hashes([*row.choices, *reference.choices, *this.plan.scoring])
        config, environment = this.prepared.config, this.prepared.environment
        key = cost_key("cost", _identity(row), config, plugins, environment, reference.name)
        if _failed_everywhere(this, row):
            key = digest(["training failed", key])  # it is measured once a training succeeds
            if not this.reuse(key, True):
                this.record("cost", row, key, "skipped", "every training of it failed")
            continue
        if not this.reuse(key, only_known or not fresh) and not only_known:
            rows.append(row)
            keys[row.name] = key
    jobs = _cost_jobs(this, rows, reference) if rows else []
    by_name = {row.name: row for row in rows}

    def ended(job: Job, result: Result) -> None:
        assert isinstance(job, CostJob)
        # Where the whole job failed, that is the result of each member.
        results = result.members or (result,) * len(job.members)
        for member, own in zip(job.members, results, strict=True):
            row = None if member.twin else by_name.pop(member.model.name, None)
            if row is not None:
                this.record(
                    "cost",
                    row,
                    keys[row.name],
                    own.status,
                    own.reason,
                    metrics=dict(own.metrics),
                    samples=dict(own.samples),
                    traceback=own.traceback,
                    **_environment(own),
                )

    _run_jobs(this, "cost", jobs, ended)
    return len(rows)


def _failed_everywhere(this: _Run, row: PlanRow) -> bool:
    """Whether the row was trained in this run, and every training of it failed."""
    trained = [r.status for r in this.records if r.kind == "train" and r.name == row.name]
    return bool(trained) and "ok" not in trained


def _cost_jobs(this: _Run, rows: Sequence[PlanRow], reference: PlanRow) -> list[Job]:
    """Groups of a few rows, each measured in turns with the reference and its twin."""
    others = [row for row in rows if row.name != reference.name]
    groups = [others[i : i + GROUP_SIZE] for i in range(0, len(others), GROUP_SIZE)] or [[]]
    jobs: list[Job] = []
    for number, group in enumerate(groups, start=1):
        members = (
            CostMember(reference.model),
            CostMember(reference.model, twin=True),
            *(CostMember(row.model) for row in group),
        )
        name = f"group {number} of {len(groups)} ({len(members) - 1} models)"
        key = digest(["group", [row.name for row in group], this.prepared.config])
        jobs.append(
            CostJob(this.prepared.setup, name, key, members=members, rounds=this.request.rounds)
        )
    return jobs


def _run_jobs(
    this: _Run,
    phase: str,
    jobs: Sequence[Job],
    ended: Callable[[Job, Result], None],
) -> None:
    """Run jobs; each result is recorded before anything else happens."""
    known = [r for r in this.records if r.kind == phase and r.status == "ok"]
    if known:
        this.progress.notice(f"{phase}: {len(known)} there already")
    if not jobs:
        this.progress.phase(phase, 0)
        return
    directory = this.file.directory
    # Closed at once when the run is interrupted, which stops the jobs.
    with contextlib.closing(
        this.executor.run(jobs, limits=this.prepared.limits, directory=directory)
    ) as events:
        this.progress.phase(phase, len(jobs))
        for event in events:
            if isinstance(event, Ended):
                ended(event.job, event.result)
            this.progress.event(event, ranked_by(this.descriptions, this.request.metric))


def _environment(result: Result) -> dict[str, Any]:
    """The environment of the machine that ran a job, where the job came far enough to say."""
    return {"environment": dict(result.environment)} if result.environment else {}


def _identity(row: PlanRow) -> dict[str, Any]:
    """What a row is, for keys."""
    return {"cell": dict(row.model.cell), "baseline": row.model.baseline}


def _directory_name(config: Mapping[str, Any]) -> str:
    """``TASK-DATA-HASH``: one directory for each task, data set and settings."""
    data = config["data"]["name"]
    slug = "".join(c if c.isalnum() or c in "-_." else "-" for c in data).strip("-.") or "data"
    return f"{config['task']}-{slug}-{digest(config)[:8]}"
