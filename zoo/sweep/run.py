"""A request becomes records: plan, data, trials, probes."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.execution.base import Setting
from zoo.execution.cost import ProbeOutcome, run_probes
from zoo.execution.local import TrialOutcome, TrialTask, run_trials
from zoo.registry.loading import Zoo
from zoo.sweep.keys import plugin_hashes, probe_key, trial_key
from zoo.sweep.plan import Plan, Planned, make_plan
from zoo.sweep.prepare import prepare, scratch_log
from zoo.sweep.progress import Progress
from zoo.sweep.records import Record, RecordFile, Status, digest
from zoo.sweep.repeat_command import repeat_command
from zoo.tasks.score import CLASSIFY

# What all records of one directory share, so that their rows can stand in one table.
SHARED = ("task", "data", "sizes", "training", "execution", "read_last", "beam")


@dataclass(frozen=True)
class Outcome:
    """What a run ended with. records: those of this request alone, reused ones among them."""

    plan: Plan
    records: list[Record]
    directory: Path
    trained: int
    probed: int

    @property
    def failed(self) -> list[Record]:
        """What was to run and did not end well."""
        return [r for r in self.records if r.status not in ("ok", "skipped")]


@dataclass
class _Run:
    """What the steps of one run share."""

    request: Request
    zoo: Zoo
    plan: Plan
    config: dict[str, Any]
    environment: dict[str, Any]
    setting: Setting
    file: RecordFile
    progress: Progress
    known: dict[str, Record] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def record(self, row: Planned, kind: Any, status: Status, key: str, **rest: Any) -> Record:
        """Write one outcome down, at once."""
        record = Record(
            kind=kind,
            status=status,
            cell=dict(row.subject.cell),
            baseline=row.subject.baseline,
            key=key,
            config=self.config,
            environment=self.environment,
            plugins=plugin_hashes(row.choices),
            command=repeat_command(self.request, row.subject, rest.get("seed")),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            **rest,
        )
        self.file.append(record)
        self.records.append(record)
        return record


def run(
    request: Request,
    zoo: Zoo,
    progress: Progress,
    *,
    out: Path | None = None,
    fresh: bool = False,
    collect: bool = False,
    finished: Callable[[Plan, Sequence[Record], Path], None] = lambda *_: None,
) -> Outcome:
    """Carry out a request and return its records.

    out: the directory that keeps the records; one of its own per data and settings by default.
    fresh: run again what is already there. collect: run nothing, only read what is there.
    finished: called with what there is at the end, however the run ends.
    Raises ZooError for whatever the user asked for that cannot be had.
    """
    plan = make_plan(request, zoo.registry)
    with scratch_log() as log:
        prepared = prepare(request, zoo, progress, log, () if collect else plan.runnable)
        config = prepared.config
        directory = out or Path("runs") / _directory(config)
        this = _Run(
            request=request,
            zoo=zoo,
            plan=plan,
            config=config,
            environment=prepared.environment,
            setting=prepared.setting,
            file=RecordFile(directory),
            progress=progress,
        )
        with this.file.held():
            if this.file.repaired:
                progress.notice(this.file.repaired)
            existing = this.file.read()
            _refuse_strangers(existing, config, directory)
            this.known = {r.key: r for r in existing if r.status in ("ok", "skipped")}
            trained = probed = 0
            try:
                _skips(this)
                # A phase that was not asked for shows what is there already, as --collect does.
                only_known = {p: collect or p not in request.phases for p in ("trials", "probes")}
                trained = _trials(this, directory, log, only_known["trials"], fresh)
                probed = _probes(this, log, only_known["probes"], fresh)
            finally:
                finished(plan, this.records, directory)
    return Outcome(plan, this.records, directory, trained, probed)


def _refuse_strangers(existing: list[Record], config: dict[str, Any], directory: Path) -> None:
    """More cells and seeds are welcome in a directory; other data or settings are not."""
    for record in existing:
        for part in SHARED:
            if record.config.get(part) == config.get(part):
                continue
            if part == "task":
                what = f"--task {record.task}, not --task {config.get('task', CLASSIFY)}"
            elif part == "data":
                there, here = record.config["data"], config["data"]
                what = (
                    f"data '{there['name']}' ({there['fingerprint'][:12]}), "
                    f"not '{here['name']}' ({here['fingerprint'][:12]})"
                )
            elif isinstance(config.get(part), dict):
                there, here = record.config.get(part, {}), config[part]
                what = ", ".join(
                    f"{name}={there.get(name)!r}, not {value!r}"
                    for name, value in here.items()
                    if there.get(name) != value
                )
            else:
                what = f"{part}={record.config.get(part)!r}, not {config.get(part)!r}"
            raise ZooError(f"--out {directory} holds records of {what}; choose another directory")


def _skips(this: _Run) -> None:
    for row in this.plan.rows:
        if not row.obstacle:
            continue
        key = digest(["skipped", dict(row.subject.cell), row.obstacle, this.config])
        if key in this.known:
            this.records.append(this.known[key])
        else:
            this.record(row, "trial", "skipped", key, reason=row.obstacle)


def _trials(this: _Run, directory: Path, log: Path, collect: bool, fresh: bool) -> int:
    """Every seed of every row, what is known taken over; how many were run now."""
    tasks: list[TrialTask] = []
    checkpoints = directory / "checkpoints"
    if fresh and not collect:
        shutil.rmtree(checkpoints, ignore_errors=True)
    # Seeds outermost: an interrupted run then has whole rounds of cells to compare.
    for seed in this.request.seeds:
        for row in this.plan.runnable:
            key = trial_key(row.subject, seed, this.config, plugin_hashes(row.choices))
            if key in this.known and (collect or not fresh):
                this.records.append(this.known[key])
            elif not collect:
                tasks.append(TrialTask(row, seed, key))
    total = len(tasks)
    this.progress.phase("trials", total)

    def done(outcome: TrialOutcome) -> None:
        result = outcome.result or {}
        this.record(
            outcome.task.row,
            "trial",
            outcome.status,
            outcome.task.key,
            reason=outcome.reason,
            seed=outcome.task.seed,
            metrics={**result.get("metrics", {}), "seconds": outcome.seconds},
            curve=result.get("curve", []),
        )

    run_trials(
        tasks,
        setting=this.setting,
        jobs=this.request.jobs,
        timeout=this.request.timeout,
        checkpoints=checkpoints,
        log=log,
        progress=this.progress,
        done=done,
    )
    return total


def _probes(this: _Run, log: Path, collect: bool, fresh: bool) -> int:
    """The cost of every row, what is known taken over; how many were measured now."""
    rows, keys = [], {}
    reference = next(r for r in this.plan.rows if r.name == this.plan.reference)
    for row in this.plan.runnable:
        plugins = plugin_hashes([*row.choices, *reference.choices])
        key = probe_key(row.subject, this.config, plugins, this.environment, reference.name)
        if key in this.known and (collect or not fresh):
            this.records.append(this.known[key])
        elif not collect:
            rows.append(row)
            keys[row.name] = key
    this.progress.phase("probes", len(rows))

    def done(outcome: ProbeOutcome) -> None:
        this.record(
            outcome.row,
            "probe",
            outcome.status,
            keys[outcome.row.name],
            reason=outcome.reason,
            metrics=outcome.metrics,
            samples=outcome.samples,
        )

    run_probes(
        rows,
        reference=reference,
        setting=this.setting,
        rounds=this.request.rounds,
        timeout=this.request.timeout,
        log=log,
        progress=this.progress,
        done=done,
    )
    return len(rows)


def _directory(config: dict[str, Any]) -> str:
    task = f"{config['task']}-" if "task" in config else ""
    return f"{task}{_slug(config['data']['name'])}-{digest(config)[:8]}"


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.") or "data"
