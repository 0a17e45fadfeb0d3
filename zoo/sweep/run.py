"""A request becomes records: plan, data, trainings, cost measurements."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.artifacts import Artifacts
from zoo.execution.base import CostJob, CostMember, Executor, Job, Result, TrainJob
from zoo.registry.code_hash import plugin_hashes
from zoo.registry.loading import Zoo
from zoo.sweep.keys import cost_key, digest, training_key
from zoo.sweep.plan import Plan, PlanRow, make_plan
from zoo.sweep.prepare import Prepared, open_executor, prepare, run_jobs
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, Kind, Record, RecordFile, Status, refuse_other_settings
from zoo.sweep.repeat_command import repeat_command
from zoo.sweep.tune import Trial, chosen_settings, tuning_trials

# What all records of one directory share, so that their rows can be in one table.
SHARED = ("task", "task_options", "data", "sizes", "training", "tuning", "execution")
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


# Called with the plan, the records and their directory.
Finished = Callable[[Plan, Sequence[Record], Path], None]


@dataclass(frozen=True)
class Work:
    """A request that can be carried out: its plan, its data, and what runs its jobs."""

    request: Request
    zoo: Zoo
    plan: Plan
    prepared: Prepared
    executor: Executor
    progress: Progress


@dataclass
class _Run:
    """What the steps of one run share. known: records that can be reused, by key."""

    work: Work
    file: RecordFile
    descriptions: tuple[MetricDescription, ...]
    known: dict[str, Record] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

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
        rest.setdefault("environment", dict(self.prepared.environment))
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
            command=repeat_command(self.request, self.plan.task, row.model, training, seed),
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
    finished: Finished = lambda *_: None,
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
        prepared = prepare(request, plan, zoo, executor, progress, inspected)
        plan = plan.with_data(prepared.loaded.conditions)
        directory = out or Path("runs") / directory_name(prepared.config)
        work = Work(request, zoo, plan, prepared, executor, progress)
        return run_prepared(work, directory, fresh, collect, finished)


def run_prepared(
    work: Work, directory: Path, fresh: bool, collect: bool, finished: Finished
) -> Outcome:
    """Carry out a request whose data are loaded; see ``run``."""
    request, plan, prepared = work.request, work.plan, work.prepared
    file = RecordFile(directory)
    metrics = plan.task.metrics_from(work.zoo.registry, prepared.loaded.encoded.label_names)
    descriptions = tuple(metric.description for metric in metrics)
    with file.lock():
        if file.repaired:
            work.progress.notice(file.repaired)
        existing = file.read()
        refuse_other_settings(existing, prepared.config, SHARED, directory)
        # Failed work is done again, and --collect shows it where it did not end well later.
        existing.sort(key=lambda record: record.status in REUSABLE)
        known = {r.key: r for r in existing if collect or r.status in REUSABLE}
        this = _Run(work, file, descriptions, known)
        trained = measured = 0
        if fresh and not collect:
            Artifacts(directory).clear()
        try:
            _skipped(this)
            # A phase that was not asked for shows what is already there, as --collect does.
            only_known = collect or "train" not in request.phases
            trained = _train(this, "tune", tuning_trials(request, plan), only_known, fresh)
            chosen = chosen_settings(request, plan, this.records, this.metrics[0])
            if not only_known:
                _without_settings(this, chosen)
            trained += _train(this, "train", _trials(this, chosen), only_known, fresh)
            measured = _measure(this, chosen, collect or "cost" not in request.phases, fresh)
        finally:
            finished(plan, this.records, directory)
    return Outcome(plan, this.records, directory, trained, measured)


def _skipped(this: _Run) -> None:
    """A record for every row that cannot run."""
    for row in this.plan.rows:
        if not row.obstacle:
            continue
        key = digest(["skipped", _identity(row), row.obstacle, this.prepared.config])
        if not this.reuse(key, True):
            this.record("train", row, key, this.request.training, "skipped", row.obstacle)


def _without_settings(this: _Run, chosen: Mapping[str, Training]) -> None:
    """A record for every row none of whose trials ended well: there is nothing to train it with."""
    last = {record.name: record for record in this.records if record.kind == "tune"}
    for row in this.plan.runnable:
        if row.name not in chosen and row.name in last:
            failed, training = last[row.name], this.request.training
            reason = f"no {' and '.join(this.request.tuned)} could be chosen: {failed.reason}"
            key = digest(["without settings", failed.key])
            for seed in this.request.seeds:
                this.record(
                    "train",
                    row,
                    key,
                    training,
                    failed.status,
                    reason,
                    seed,
                    environment=failed.environment,
                    traceback=failed.traceback,
                )


def _trials(this: _Run, chosen: Mapping[str, Training]) -> Iterator[Trial]:
    """Every row with every seed."""
    # Seeds outermost: an interrupted run then has whole rounds of cells to compare.
    for seed in this.request.seeds:
        for row in this.plan.runnable:
            once = row.trained_with(seed, this.request.seeds)
            if once and row.name in chosen:
                yield Trial(row, seed, chosen[row.name])


def _train(
    this: _Run,
    kind: Literal["tune", "train"],
    trials: Iterable[Trial],
    only_known: bool,
    fresh: bool,
) -> int:
    """Carry out the trials that are not known; how many there were."""
    jobs: list[Job] = []
    started: dict[str, Trial] = {}
    for trial in trials:
        row, plugins = trial.row, plugin_hashes([*trial.row.choices, *this.plan.scoring])
        key = training_key(_identity(row), trial.seed, this.config(trial.training), plugins)
        if not this.reuse(key, only_known or not fresh) and not only_known:
            setup = replace(this.prepared.setup, training=trial.training)
            name = f"{row.name} seed {trial.seed}{_values(this.request, trial)}"
            jobs.append(TrainJob(setup, name, key, model=row.model, seed=trial.seed))
            started[key] = trial

    def ended(job: Job, result: Result) -> None:
        trial = started[job.key]
        this.record(
            kind,
            trial.row,
            job.key,
            trial.training,
            result.status,
            result.reason,
            trial.seed,
            metrics={**result.metrics, "seconds": result.seconds},
            curve=[dict(entry) for entry in result.curve],
            traceback=result.traceback,
            **_environment(result),
        )

    _run_jobs(this, kind, jobs, ended)
    return len(jobs)


def _values(request: Request, trial: Trial) -> str:
    """The values of the settings that are chosen for each row: `` lr=0.003``."""
    if trial.row.fits_itself:
        return ""
    return "".join(f" {name}={getattr(trial.training, name):g}" for name in request.tuned)


def _measure(this: _Run, chosen: Mapping[str, Training], only_known: bool, fresh: bool) -> int:
    """Measure the cost of every row that is not known; how many were measured."""
    rows: list[PlanRow] = []
    keys: dict[str, str] = {}

    def training(row: PlanRow) -> Training:
        return chosen.get(row.name, this.request.training)

    reference = next(r for r in this.plan.rows if r.name == this.plan.reference)
    for row in this.plan.runnable:
        plugins = plugin_hashes([*row.choices, *reference.choices, *this.plan.scoring])
        config, environment = this.config(training(row)), this.prepared.environment
        more = reference.name, this.request.rounds
        key = cost_key("cost", _identity(row), config, plugins, environment, *more)
        if _failed_everywhere(this, row):
            key = digest(["training failed", key])  # it is measured once a training succeeds
            if not this.reuse(key, True):
                reason = "every training of it failed"
                this.record("cost", row, key, training(row), "skipped", reason)
            continue
        if not this.reuse(key, only_known or not fresh) and not only_known:
            rows.append(row)
            keys[row.name] = key
    jobs = _cost_jobs(this, rows, reference, training) if rows else []
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
                    training(row),
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


def _cost_jobs(
    this: _Run,
    rows: Sequence[PlanRow],
    reference: PlanRow,
    training: Callable[[PlanRow], Training],
) -> list[Job]:
    """Groups of a few rows, each measured in turns with the reference and its twin."""
    others = [row for row in rows if row.name != reference.name]
    groups = [others[i : i + GROUP_SIZE] for i in range(0, len(others), GROUP_SIZE)] or [[]]
    jobs: list[Job] = []
    for number, group in enumerate(groups, start=1):
        members = (
            CostMember(reference.model, training=training(reference)),
            CostMember(reference.model, training=training(reference), twin=True),
            *(CostMember(row.model, training=training(row)) for row in group),
        )
        name = f"group {number} of {len(groups)} ({len(members) - 1} models)"
        key = digest(["group", [row.name for row in group], this.prepared.config])
        jobs.append(
            CostJob(this.prepared.setup, name, key, members=members, rounds=this.request.rounds)
        )
    return jobs


def _run_jobs(
    this: _Run, phase: str, jobs: Sequence[Job], ended: Callable[[Job, Result], None]
) -> None:
    """Run jobs; each result is recorded at once."""
    known = [r for r in this.records if r.kind == phase and r.status == "ok"]
    if known:
        this.work.progress.notice(f"{phase}: {len(known)} there already")
    if not jobs:
        this.work.progress.phase(phase, 0)
        return
    limits, directory = this.prepared.limits, this.file.directory
    metrics = this.metrics
    run_jobs(this.work.executor, jobs, limits, directory, this.work.progress, ended, metrics, phase)


def _environment(result: Result) -> dict[str, Any]:
    """The environment of the machine that ran a job, where the job came far enough to say."""
    return {"environment": dict(result.environment)} if result.environment else {}


def _identity(row: PlanRow) -> dict[str, Any]:
    """What a row is, for keys."""
    return {"cell": dict(row.model.cell), "baseline": row.model.baseline}


def directory_name(config: Mapping[str, Any]) -> str:
    """``TASK-DATA-HASH``: one directory for each task, data set and settings."""
    data = config["data"]["name"]
    return f"{config['task']}-{slug(data)}-{digest(config)[:8]}"


def slug(name: str) -> str:
    """A name as part of a file's name: ``recall(pairs=32)`` as ``recall-pairs-32``."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "data"
