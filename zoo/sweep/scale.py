"""How cost grows along an axis: all cells at one value, then at the next; a record for each."""

from __future__ import annotations

import datetime
import functools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zoo.config.request import Request
from zoo.execution.base import CostJob, CostMember, Ended, Job, JobSetup, Result
from zoo.measure.round_ratios import MOST_ROUNDS
from zoo.measure.scaling import sizes_at
from zoo.registry import Choice, Registry
from zoo.registry.cell import Cell
from zoo.registry.code_hash import plugin_hashes
from zoo.registry.loading import Zoo
from zoo.sweep.keys import cost_key, digest
from zoo.sweep.make_request import refuse_several_values
from zoo.sweep.plan import Plan, PlanRow, make_plan
from zoo.sweep.prepare import inspect, job_limits, job_setup, open_executor, run_jobs
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, Record, RecordFile, refuse_other_settings
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
    setup: JobSetup
    config: dict[str, Any]
    environment: Mapping[str, Any]
    file: RecordFile
    known: dict[str, Record]
    records: list[Record] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)

    @property
    def allowed(self) -> dict[str, Any]:
        """The limits that a failure may depend on."""
        return {"memory_limit": self.request.memory_limit, "timeout": self.request.timeout}

    def key(self, row: PlanRow, value: int, obstacle: str) -> str:
        """Of the work, whatever its limits; of a row that is skipped, with the reason."""
        model = {"cell": dict(row.model.cell)}
        plugins = plugin_hashes([*row.choices, *self.plan.scoring])
        more = value, obstacle, _rounds(self.request)
        return cost_key("scale", model, self.config, plugins, self.environment, *more)

    def record(self, row: PlanRow, value: int, obstacle: str = "", **outcome: Any) -> None:
        """Write one record, at once."""
        record = Record(
            kind="scale",
            cell=dict(row.model.cell),
            key=self.key(row, value, obstacle),
            config={**self.config, "value": value, "limits": self.allowed},
            plugins=plugin_hashes([*row.choices, *self.plan.scoring]),
            command=scale_command(self.request, self.plan.task, row.model, self.over, value),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            **{"environment": dict(self.environment), **outcome},
        )
        self.file.append(record)
        self.take(record, value)

    def take(self, record: Record, value: int) -> None:
        """Keep a record; a cell that failed is not measured at larger values."""
        self.records.append(record)
        if record.status not in REUSABLE:
            self.stopped[record.name] = f"{record.status} at {self.over} {value}"


def run_scale(
    request: Request,
    zoo: Zoo,
    over: str,
    values: Sequence[int],
    progress: Progress,
    *,
    directory: Path,
    on: str | Choice = "local",
    fresh: bool = False,
) -> list[Record]:
    """Measure every cell at every value, and return a record of each.

    A cell that runs out of memory or time at one value is skipped at the larger ones. Raises
    ZooError for what cannot be had.
    """
    refuse_several_values(request, "zoo scale")
    changes: dict[str, Any] = {"baseline": "none"}
    if over == "layers":  # a pattern need not fit the smaller models, which are skipped
        changes["sizes"] = sizes_at(over, max(values), request.sizes, 0)[0]
    plan = make_plan(request.model_copy(update=changes), zoo.registry)
    with open_executor(zoo, on) as executor:
        limits = job_limits(request.model_copy(update={"jobs": 1}), executor)
        setup = job_setup(request, plan, zoo, None)
        environment, setup, _ = inspect(executor, setup, limits, progress, [])
        config = {
            "task": request.task,
            "task_options": request.recorded_options,
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
            registry = zoo.registry
            this = _Run(request, registry, plan, over, setup, config, environment, file, known)
            progress.phase("values", len(values))
            for value in values:
                job, rows = _job(this, value)
                if rows:
                    record = functools.partial(_record, this, rows, value)
                    run_jobs(executor, [job], limits, directory, progress, record)
                else:
                    progress.event(Ended(job, Result()))
    return this.records


def _base(request: Request, over: str) -> dict[str, int]:
    """The sizes that stay the same, and those that others follow."""
    base = {**request.sizes.model_dump(), "batch": request.training.batch_size}
    base.pop({"length": "max_length"}.get(over, over))
    return base


def _job(this: _Run, value: int) -> tuple[CostJob, list[PlanRow]]:
    """What is to be measured at one value, and of which rows.

    Known results are taken over, and what cannot work is recorded.
    """
    rows: list[PlanRow] = []
    sizes, batch = sizes_at(this.over, value, this.request.sizes, this.request.training.batch_size)
    for row in this.plan.rows:
        cell = Cell.parse(this.registry, row.model.cell)
        obstacle = cell.refusal(sizes, this.plan.needs)
        obstacle = obstacle or this.stopped.get(row.name, "")
        known = this.known.get(this.key(row, value, obstacle))
        if known and (known.status in REUSABLE or known.config["limits"] == this.allowed):
            this.take(known, value)
        elif obstacle:
            this.record(row, value, obstacle, status="skipped", reason=obstacle)
        else:
            rows.append(row)
    name = f"{this.over} {value}"
    job = CostJob(
        replace(this.setup, sizes=sizes),
        name,
        digest(["scale", name, [row.name for row in rows], this.config]),
        members=tuple(CostMember(row.model, sizes, full_length=batch) for row in rows),
        rounds=_rounds(this.request),
        matrix_rate=False,
    )
    return job, rows


def _rounds(request: Request) -> int:
    return request.rounds or MOST_ROUNDS


def _record(this: _Run, rows: Sequence[PlanRow], value: int, _: Job, result: Result) -> None:
    """A record of each row. Where the whole job failed, that is the result of each."""
    for row, own in zip(rows, result.members or (result,) * len(rows), strict=True):
        outcome = {"status": own.status, "reason": own.reason, "traceback": own.traceback}
        this.record(row, value, **outcome, **(_costs(own) if own.status == "ok" else {}))


def _costs(result: Result) -> dict[str, Any]:
    """What the record of a measurement holds."""
    rounds, memory = result.samples["rounds"], result.samples["memory"]
    seconds = {
        f"{phase}_seconds": statistics.median(statistics.median(r[phase]) for r in rounds)
        for phase in ("train", "infer")
    }
    metrics = {
        **seconds,
        "train_memory_mib": memory["training"]["peak_mib"],
        "infer_memory_mib": memory["inference"]["peak_mib"],
        "memory_how": memory["training"]["how"],
        "kernels": result.metrics["kernels"],
    }
    samples = {"rounds": rounds, "memory": memory}
    return {"metrics": metrics, "samples": samples, "environment": dict(result.environment)}
