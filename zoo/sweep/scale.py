"""Cells measured along an axis, all of them at one value before the next; a record for each."""

from __future__ import annotations

import datetime
import functools
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo import __version__
from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.execution.base import Setting
from zoo.execution.process import Worker, WorkerError
from zoo.measure.scaling import Job, Point, point
from zoo.registry.loading import Zoo
from zoo.sweep.keys import code_hash, git_state, plugin_hashes
from zoo.sweep.plan import Planned, make_plan
from zoo.sweep.prepare import scratch_log
from zoo.sweep.progress import Progress
from zoo.sweep.records import Record, RecordFile, Status, digest

FILE = "scale.jsonl"
ROUND_SECONDS, MOST_STEPS = 0.5, 20
SHARED = ("over", "base", "training", "execution", "read_last")
MACHINE = ("device", "device_name", "driver", "torch", "threads", "precision", "cores")


@dataclass
class _Measured:
    """A cell at one value. failure: how it ended, where not well."""

    row: Planned
    at: Point
    worker: Worker | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    step_seconds: float = 0.0
    rounds: list[dict[str, list[float]]] = field(default_factory=list)
    failure: WorkerError | None = None


@dataclass
class _Run:
    """What all points share."""

    request: Request
    zoo: Zoo
    over: str
    setting: Setting
    config: dict[str, Any]
    environment: dict[str, Any]
    file: RecordFile
    progress: Progress
    log: Path
    command: Callable[[Planned, int], str]
    known: dict[str, Record]
    records: list[Record] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)  # cell to why it goes no further


def run_scale(
    request: Request,
    zoo: Zoo,
    over: str,
    values: Sequence[int],
    progress: Progress,
    *,
    directory: Path,
    command: Callable[[Planned, int], str],
    fresh: bool = False,
) -> list[Record]:
    """Measure every cell at every value, and return a record of each.

    command: what measures one cell at one value again. A cell that runs out of memory or time at
    one value is skipped at the greater ones. Raises ZooError for what cannot be had.
    """
    rows = make_plan(request.model_copy(update={"baseline": "none"}), zoo.registry).rows
    setting = _setting(request, zoo)
    with scratch_log() as log:
        with Worker(setting.threads, log) as worker:
            machine = worker.call("describe", setting)
        config = {
            "over": over,
            "base": _base(request, over),
            "training": {"dropout": request.training.dropout},
            "execution": {
                "precision": machine["precision"],
                "compile": request.execution.compile,
            },
            "read_last": request.read_last,
        }
        file = RecordFile(directory, FILE)
        with file.held():
            if file.repaired:
                progress.notice(file.repaired)
            existing = file.read()
            _refuse_strangers(existing, config, directory)
            this = _Run(
                request,
                zoo,
                over,
                setting,
                config,
                {**machine, "zoo": __version__, "git": git_state()},
                file,
                progress,
                log,
                command,
                {} if fresh else {r.key: r for r in existing},
            )
            progress.phase("points", len(values) * len(rows))
            for value in values:
                _value(this, rows, value)
    return this.records


def _setting(request: Request, zoo: Zoo) -> Setting:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Setting(
        data="",
        sizes=request.sizes,
        training=request.training,
        execution=request.execution,
        plugin_files=zoo.files,
        plugin_selection=os.environ.get("ZOO_PLUGINS"),
        threads=request.threads or cores or 1,
        read_last=request.read_last,
        memory_limit=request.memory_limit,
    )


def _base(request: Request, over: str) -> dict[str, int]:
    """The sizes that stay what they are, and those that the others follow."""
    base = {**request.sizes.model_dump(), "batch": request.training.batch_size}
    base.pop({"length": "max_length"}.get(over, over))
    return base


def _refuse_strangers(existing: Sequence[Record], config: dict[str, Any], directory: Path) -> None:
    """More cells and values are welcome in a directory; other settings are not."""
    for record in existing:
        for part in SHARED:
            if record.config.get(part) != config[part]:
                raise ZooError(
                    f"--out {directory} holds records of {part} {record.config.get(part)}, "
                    f"not {config[part]}; choose another directory"
                )


def _value(this: _Run, rows: Sequence[Planned], value: int) -> None:
    """Every cell at one value: what is known taken over, what cannot be skipped, the rest run."""
    bench = []
    for row in rows:
        sizes, batch = this.request.sizes, this.request.training.batch_size
        at = point(row.subject, this.over, value, sizes, batch)
        assert row.cell is not None
        why = row.cell.obstacle(at.sizes.dim, at.sizes.heads) or this.ended.get(row.name, "")
        known = this.known.get(_key(this, row, value, why))
        if known and (known.status in ("ok", "skipped") or known.config["limits"] == _limits(this)):
            this.records.append(known)
            _follow(this, known, value)
            this.progress.ended(_label(this, row, value), known.status, known.reason, None)
        elif why:
            _record(this, row, value, "skipped", why)
        else:
            bench.append(_Measured(row, at))
    _measure(this, bench)


def _key(this: _Run, row: Planned, value: int, why: str) -> str:
    """Of the work, whatever it was allowed to take; of a row that is skipped, with the reason."""
    machine = {name: this.environment[name] for name in MACHINE}
    plugins = plugin_hashes(row.choices)
    who = dict(row.subject.cell)
    return digest(["scale", who, value, this.config, plugins, code_hash(), machine, why])


def _limits(this: _Run) -> dict[str, Any]:
    return {"memory_limit": this.request.memory_limit, "timeout": this.request.timeout}


def _measure(this: _Run, bench: list[_Measured]) -> None:
    """Memory in processes of their own; then rounds in turn over all that are left."""
    try:
        for one in bench:
            this.progress.started(_label(this, one.row, one.at.value), 0)
            _guarded(one, functools.partial(_prepare, this, one))
            if one.failure is not None:
                _end(this, one)
        able = [one for one in bench if one.failure is None]
        for number in range(this.request.rounds if able else 0):
            turn = number % len(able)
            for one in able[turn:] + able[:turn]:
                if one.failure is None:
                    _guarded(one, functools.partial(_round, this, one))
        for one in able:
            _end(this, one)
    finally:
        for one in bench:
            if one.worker is not None:
                one.worker.stop()


def _prepare(this: _Run, one: _Measured) -> None:
    setting, timeout = this.setting, this.request.timeout
    for phase in ("training", "inference"):
        with Worker(setting.threads, this.log, setting.memory_limit) as worker:
            job = Job(one.at, phase)
            one.memory[phase] = worker.call("scale", (setting, job), timeout=timeout)
    one.worker = Worker(setting.threads, this.log, setting.memory_limit)
    job = Job(one.at, "prepare")
    one.step_seconds = one.worker.call("scale", (setting, job), timeout=timeout)


def _round(this: _Run, one: _Measured) -> None:
    assert one.worker is not None
    steps = max(1, min(MOST_STEPS, int(ROUND_SECONDS / one.step_seconds)))
    job = Job(one.at, "round", steps)
    one.rounds.append(one.worker.call("scale", (this.setting, job), timeout=this.request.timeout))


def _guarded(one: _Measured, work: Callable[[], None]) -> None:
    """Do the work; a failure is the cell's own and stops nothing else."""
    try:
        work()
    except WorkerError as failure:
        one.failure = failure
    except ZooError as error:
        one.failure = WorkerError("crashed", str(error))
    if one.failure is not None and one.worker is not None:
        one.worker.stop()


def _end(this: _Run, one: _Measured) -> None:
    """Write one outcome down, at once."""
    if one.failure is not None:
        record = _record(this, one.row, one.at.value, one.failure.status, one.failure.reason)
        _follow(this, record, one.at.value)
        return
    metrics: dict[str, Any] = {
        f"{phase}_seconds": statistics.median(statistics.median(r[phase]) for r in one.rounds)
        for phase in ("train", "infer")
    }
    metrics |= {
        "train_memory_mib": one.memory["training"]["peak_mib"],
        "infer_memory_mib": one.memory["inference"]["peak_mib"],
        "memory_how": one.memory["training"]["how"],
    }
    samples = {"rounds": one.rounds, "memory": one.memory}
    _record(this, one.row, one.at.value, "ok", metrics=metrics, samples=samples)


def _follow(this: _Run, record: Record, value: int) -> None:
    """A cell that failed at one value goes no further."""
    if record.status not in ("ok", "skipped"):
        this.ended[record.name] = f"{record.status} at {this.over} {value}"


def _record(
    this: _Run, row: Planned, value: int, status: Status, reason: str = "", **rest: Any
) -> Record:
    why = reason if status == "skipped" else ""
    record = Record(
        kind="scale",
        status=status,
        reason=reason,
        cell=dict(row.subject.cell),
        key=_key(this, row, value, why),
        config={**this.config, "value": value, "limits": _limits(this)},
        environment=this.environment,
        plugins=plugin_hashes(row.choices),
        command=this.command(row, value),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **rest,
    )
    this.file.append(record)
    this.records.append(record)
    this.progress.ended(_label(this, row, value), status, reason, None)
    return record


def _label(this: _Run, row: Planned, value: int) -> str:
    return f"{row.name} {this.over} {value}"
