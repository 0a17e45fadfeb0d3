"""How cost grows along an axis: all cells at one value, then at the next; a record for each."""

from __future__ import annotations

import contextlib
import datetime
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zoo.config.request import Request
from zoo.execution.base import CostJob, CostMember, Ended, Executor, JobSetup, Limits, Result
from zoo.measure.scaling import sizes_at
from zoo.registry import Registry
from zoo.registry.cell import Cell
from zoo.registry.loading import Zoo
from zoo.sweep.keys import cost_key, digest, plugin_hashes
from zoo.sweep.plan import Plan, PlanRow, make_plan
from zoo.sweep.prepare import inspect, job_limits, job_setup, open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.records import Record, RecordFile, Status, refuse_other_settings
from zoo.sweep.repeat_command import scale_command

FILE = "scale.jsonl"
SHARED = ("task", "task_options", "over", "base", "training", "execution")


@dataclass
class _Run:
    """What all points share. stopped: cell to why it is not measured at larger values."""

    request: Request
    registry: Registry
    plan: Plan
    over: str
    executor: Executor
    setup: JobSetup
    limits: Limits
    config: dict[str, Any]
    environment: Mapping[str, Any]
    file: RecordFile
    progress: Progress
    known: dict[str, Record]
    records: list[Record] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)

    @property
    def allowed(self) -> dict[str, Any]:
        """The limits that a failure may depend on."""
        return {"memory_limit": self.limits.memory_limit, "timeout": self.limits.timeout}


def run_scale(
    request: Request,
    zoo: Zoo,
    over: str,
    values: Sequence[int],
    progress: Progress,
    *,
    directory: Path,
    on: str = "local",
    fresh: bool = False,
) -> list[Record]:
    """Measure every cell at every value, and return a record of each.

    A cell that runs out of memory or time at one value is skipped at the larger ones. Raises
    ZooError for what cannot be had.
    """
    planned: dict[str, Any] = {"baseline": "none"}
    if over == "layers":  # a pattern need not fit the smaller models, which are skipped
        planned["sizes"] = sizes_at(over, max(values), request.sizes, 0)[0]
    plan = make_plan(request.model_copy(update=planned), zoo.registry)
    limits = job_limits(request.model_copy(update={"jobs": 1}))
    with open_executor(zoo, on) as executor:
        environment, setup = inspect(executor, job_setup(request, zoo, None), limits, [])
        config = {
            "task": request.task,
            "task_options": request.task_options,
            "over": over,
            "base": _base(request, over),
            "training": {"dropout": request.training.dropout},
            "execution": {
                "precision": environment["precision"],
                "compile": request.execution.compile,
            },
        }
        file = RecordFile(directory, FILE)
        with file.lock():
            if file.repaired:
                progress.notice(file.repaired)
            existing = file.read()
            refuse_other_settings(existing, config, SHARED, directory)
            known = {} if fresh else {r.key: r for r in existing}
            this = _Run(
                request,
                zoo.registry,
                plan,
                over,
                executor,
                setup,
                limits,
                config,
                environment,
                file,
                progress,
                known,
            )
            progress.phase("values", len(values))
            for value in values:
                _measure_value(this, value)
    return this.records


def _base(request: Request, over: str) -> dict[str, int]:
    """The sizes that stay the same, and those that others follow."""
    base = {**request.sizes.model_dump(), "batch": request.training.batch_size}
    base.pop({"length": "max_length"}.get(over, over))
    return base


def _measure_value(this: _Run, value: int) -> None:
    """Every cell at one value: known results are taken over, impossible ones skipped."""
    rows: list[PlanRow] = []
    sizes, batch = sizes_at(this.over, value, this.request.sizes, this.request.training.batch_size)
    for row in this.plan.rows:
        cell = Cell.parse(this.registry, row.model.cell)
        obstacle = cell.obstacle(sizes, this.plan.task.needs)
        obstacle = obstacle or this.stopped.get(row.name, "")
        known = this.known.get(_key(this, row, value, obstacle))
        reusable = ("ok", "skipped")
        if known and (known.status in reusable or known.config["limits"] == this.allowed):
            this.records.append(known)
            _stop_after_failure(this, known, value)
        elif obstacle:
            _record(this, row, value, "skipped", obstacle)
        else:
            rows.append(row)
    members = tuple(CostMember(row.model, sizes, full_length=batch) for row in rows)
    name = f"{this.over} {value}"
    job = CostJob(
        replace(this.setup, sizes=sizes),
        name,
        digest(["scale", name, [row.name for row in rows], this.config]),
        members=members,
        rounds=this.request.rounds,
        matrix_rate=False,
    )
    if not members:
        this.progress.event(Ended(job, Result()))
        return
    with contextlib.closing(
        this.executor.run([job], limits=this.limits, directory=this.file.directory)
    ) as events:
        for event in events:
            if isinstance(event, Ended):
                results = event.result.members or (event.result,) * len(rows)
                for row, result in zip(rows, results, strict=True):
                    _record_result(this, row, value, result)
            this.progress.event(event)


def _record_result(this: _Run, row: PlanRow, value: int, result: Result) -> None:
    if result.status != "ok":
        _record(this, row, value, result.status, result.reason, traceback=result.traceback)
        return
    rounds, memory = result.samples["rounds"], result.samples["memory"]
    metrics: dict[str, Any] = {
        f"{phase}_seconds": statistics.median(statistics.median(r[phase]) for r in rounds)
        for phase in ("train", "infer")
    }
    metrics |= {
        "train_memory_mib": memory["training"]["peak_mib"],
        "infer_memory_mib": memory["inference"]["peak_mib"],
        "memory_how": memory["training"]["how"],
        "kernels": result.metrics["kernels"],
    }
    samples = {"rounds": rounds, "memory": memory}
    _record(
        this,
        row,
        value,
        "ok",
        metrics=metrics,
        samples=samples,
        environment=dict(result.environment),
    )


def _record(
    this: _Run, row: PlanRow, value: int, status: Status, reason: str = "", **rest: Any
) -> None:
    """Write one record, at once."""
    record = Record(
        kind="scale",
        status=status,
        reason=reason,
        cell=dict(row.model.cell),
        key=_key(this, row, value, reason if status == "skipped" else ""),
        config={**this.config, "value": value, "limits": this.allowed},
        plugins=plugin_hashes([*row.choices, *this.plan.scoring]),
        command=scale_command(this.request, this.plan.task, row.model, this.over, value),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **{"environment": dict(this.environment), **rest},
    )
    this.file.append(record)
    this.records.append(record)
    _stop_after_failure(this, record, value)


def _stop_after_failure(this: _Run, record: Record, value: int) -> None:
    """A cell that failed at one value is not measured at larger ones."""
    if record.status not in ("ok", "skipped"):
        this.stopped[record.name] = f"{record.status} at {this.over} {value}"


def _key(this: _Run, row: PlanRow, value: int, obstacle: str) -> str:
    """Of the work, whatever its limits; of a row that is skipped, with the reason."""
    model = {"cell": dict(row.model.cell)}
    plugins = plugin_hashes([*row.choices, *this.plan.scoring])
    return cost_key("scale", model, this.config, plugins, this.environment, value, obstacle)
