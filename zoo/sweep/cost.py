"""Speed and memory: of every row of a run, and of every cell at several lengths of texts."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.config.places import refuse_unwritable
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.base import CostJob, CostMember, Ended, Job, Result
from zoo.measure.turns import HALF, PHASES, seconds
from zoo.registry import Choice
from zoo.registry.loading import Zoo
from zoo.sweep.keys import digest, result_key
from zoo.sweep.make_request import lengths_command, refuse_several_values
from zoo.sweep.plan import PlanRow, cost_groups, make_plan
from zoo.sweep.prepare import inspect, job_setup, open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, SCALE_FILE, Record, RecordFile
from zoo.sweep.run import Run, job_limits, model_id

SCALE_SHARED = ("task", "task_options", "over", "base", "training", "execution")


def measure_rows(
    run: Run,
    chosen: Mapping[str, Training],
    only_known: bool,
    before: Callable[[], None] | None = None,
) -> None:
    """Measure the cost of every row that is not known.

    chosen: row name to its training settings; by default those of the request. only_known: measure
    nothing, take over what is there. before: called before the first measurement, if there is one.
    """
    trainings = {row.name: chosen.get(row.name, run.request.training) for row in run.plan.runnable}
    to_do: dict[str, tuple[PlanRow, str]] = {}
    for row in run.plan.runnable:
        training = trainings[row.name]
        key = key_of_cost(run, row, training)
        if _failed_everywhere(run, row):
            key = digest(["training failed", key])  # it is measured once a training succeeds
            if not run.reuse(key, True) and not only_known:
                skipped = Result("skipped", "every training of it failed")
                run.record("cost", row, key, training, skipped)
            continue
        if not run.reuse(key, only_known or not run.fresh) and not only_known:
            to_do[row.name] = row, key
    jobs = _cost_jobs(run, [row for row, _ in to_do.values()], trainings)
    run.measured = len(to_do)
    if jobs and before is not None:
        before()

    def ended(job: Job, result: Result) -> None:
        assert isinstance(job, CostJob)
        for member, own in job.results(result):
            if not member.twin and (found := to_do.pop(member.model.name, None)):
                row, key = found
                own = replace(own, seconds=result.seconds / len(job.members))
                run.record("cost", row, key, trainings[row.name], own)

    run.run_jobs("cost", jobs, ended)


def key_of_cost(run: Run, row: PlanRow, training: Training) -> str:
    """The key of the record of a row's cost."""
    model, code = model_id(row.model), run.code("cost", row)
    more = run.plan.reference, run.request.blocks, run.threaded
    return result_key("cost", model, run.keyed(training), code, run.cost_environment, *more)


def _failed_everywhere(run: Run, row: PlanRow) -> bool:
    """Whether the row was trained in this run, and every training of it failed."""
    trained = [r.status for r in run.records if r.kind == "train" and r.name == row.name]
    return bool(trained) and "ok" not in trained


def _cost_jobs(run: Run, rows: Sequence[PlanRow], trainings: Mapping[str, Training]) -> list[Job]:
    """Groups of a few rows, each measured in turns with the reference and its twin."""

    def member(row: PlanRow, *, twin: bool = False) -> CostMember:
        return CostMember(row.model, training=trainings[row.name], twin=twin)

    reference = next(row for row in run.plan.rows if row.name == run.plan.reference)
    groups = cost_groups(rows, reference.name)
    return [
        CostJob(
            run.setup,
            f"group {number} of {len(groups)} ({len(group) + 1} models)",
            digest(["group", [row.name for row in group], run.config]),
            members=(member(reference), member(reference, twin=True), *map(member, group)),
            blocks=run.request.blocks or 0,
            threads=run.threaded,
        )
        for number, group in enumerate(groups, start=1)
    ]


def measure_lengths(
    request: Request,
    zoo: Zoo,
    progress: Progress,
    *,
    directory: Path,
    on: str | Choice = "local",
    fresh: bool = False,
) -> list[Record]:
    """Measure every cell at each of the request's lengths, all cells at one before the next.

    Texts are made up and of full length. A cell that runs out of memory or time at one length is
    skipped at the larger ones. Raises ZooError for what cannot be had.
    """
    refuse_unwritable(directory)
    refuse_several_values(request, "--max-length with several lengths")
    plan = make_plan(request.model_copy(update={"baseline": "none"}), zoo.registry)
    with open_executor(zoo, on) as executor:
        limits = job_limits(request.model_copy(update={"jobs": 1}), executor)
        setup = job_setup(request, plan, zoo, None)
        environment, setup, _ = inspect(executor, setup, limits, progress)
        if setup.execution.device == "cpu" and not request.threads:
            limits = replace(limits, threads=1)
            environment = {**environment, "threads": 1}
        config = {
            "task": request.task,
            "task_options": request.recorded_options,
            "over": "length",
            "base": _base(request),
            "training": {"dropout": request.training.dropout},
            "execution": setup.execution.model_dump(exclude={"device"}),
        }
        run = Run(
            *(request, zoo, plan, executor, progress, setup, limits, limits),
            *(config, environment, environment),
            fresh=fresh,
        )
        with run.opened(RecordFile(directory, SCALE_FILE), SCALE_SHARED) as existing:
            run.known = {} if fresh else {record.key: record for record in existing}
            progress.phase("lengths", len(request.lengths))
            stopped: dict[str, str] = {}
            for length in request.lengths:
                _measure_at(run, length, stopped)
    return run.records


def _base(request: Request) -> dict[str, int]:
    """The sizes that stay the same."""
    sizes = request.sizes.model_dump(exclude={"max_length"})
    return {**sizes, "batch": request.training.batch_size}


def _measure_at(run: Run, length: int, stopped: dict[str, str]) -> None:
    """Measure every cell at one length: take over what is known, record what cannot work.

    stopped: cell to why it is not measured at larger lengths.
    """
    request, first = run.request, len(run.records)
    sizes = request.sizes.model_copy(update={"max_length": length})
    limits = {"timeout": request.timeout}
    blocks = request.blocks or HALF
    reasons: dict[str, str] = {}
    rows: list[PlanRow] = []

    def key(row: PlanRow) -> str:
        """Of the work, whatever its limits; of a row that is skipped, with the reason."""
        model = {"cell": dict(row.model.cell)}
        code = run.code("scale", row)
        more = length, reasons[row.name], blocks
        config = run.keyed(request.training)
        return result_key("scale", model, config, code, run.environment, *more)

    def record(row: PlanRow, result: Result) -> None:
        config = {**run.config, "value": length, "limits": limits}
        command = lengths_command(request, run.plan.task, row.model)
        rest: dict[str, Any] = {"config": config, "command": command}
        run.record("scale", row, key(row), request.training, result, **rest)

    for row in run.plan.rows:
        assert row.cell is not None
        reason = row.cell.refusal(sizes, run.plan.needs) or stopped.get(row.name, "")
        reasons[row.name] = reason
        known = run.known.get(key(row))
        if known and (known.status in REUSABLE or known.config["limits"] == limits):
            run.records.append(known)
        elif reason:
            record(row, Result("skipped", reason))
        else:
            rows.append(row)
    name, batch = f"length {length}", request.training.batch_size
    job = CostJob(
        replace(run.setup, sizes=sizes),
        name,
        digest(["scale", name, [row.name for row in rows], run.config]),
        members=tuple(CostMember(row.model, sizes, full_length=batch) for row in rows),
        blocks=blocks,
        matrix_rate=False,
    )

    def ended(_: Job, result: Result) -> None:
        for row, (_member, own) in zip(rows, job.results(result), strict=True):
            record(row, _costs(own))

    if rows:
        run.execute([job], run.limits, ended)
    else:
        run.progress.event(Ended(job, Result()))
    for each in run.records[first:]:
        if each.status not in REUSABLE:
            stopped[each.name] = f"{each.status} at {name}"


def _costs(result: Result) -> Result:
    """A measurement with what its record holds; of a failed one the failure alone."""
    if result.status != "ok":
        return Result(result.status, result.reason, result.traceback)
    samples = {name: result.samples[name] for name in ("clock", "turns", "memory")}
    memory = samples["memory"]
    metrics = {
        f"{phase}_seconds": statistics.median(itertools.chain(*seconds(samples, phase)))
        for phase in PHASES
    }
    metrics |= {
        "train_memory_mib": memory["training"]["peak_mib"],
        "infer_memory_mib": memory["inference"]["peak_mib"],
        "memory_how": memory["training"]["how"],
        "kernels": result.metrics["kernels"],
    }
    return replace(result, metrics=metrics, samples=samples, seconds=0.0)
