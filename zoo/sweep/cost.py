"""Speed and memory: of every row of a run, and of every cell at several lengths of texts."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.base import CostJob, CostMember, Job, Result
from zoo.measure.turns import HALF, PHASES, seconds
from zoo.registry.cell import model_name
from zoo.registry.loading import Zoo
from zoo.sweep.keys import digest
from zoo.sweep.plan import PlanRow, cost_groups
from zoo.sweep.prepare import open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, Record
from zoo.sweep.run import PreparedRun, Run


def measure_rows(
    run: Run, chosen: Mapping[str, Training], before: Callable[[], None] = lambda: None
) -> None:
    """Measure the cost of every row that is trained in steps, where it is not known.

    Where the request has no such phase, nothing is measured, and what is there is taken over.
    chosen: row name to its training settings; by default those of the request. before: called
    before the first measurement, where one of this run's trainings has a score.
    """
    prepared = run.prepared
    request, plan = prepared.request, prepared.plan
    asked_for = "cost" in request.phases
    rows = {row.name: row for row in plan.trainable}
    trainings = {name: chosen.get(name, request.training) for name in rows}
    keys: dict[str, str] = {}  # of what is to be measured
    for name, row in rows.items():
        key = prepared.key("cost", row, trainings[name], plan.reference, request.blocks)
        failed = _failed_everywhere(run, row)
        if failed:
            key = digest(["training failed", key])  # it is measured once a training succeeds
        if run.reuse(key) or not asked_for:
            continue
        if failed:
            skipped = Result("skipped", "every training of it failed")
            run.record("cost", row, key, trainings[name], skipped)
        else:
            keys[name] = key
    jobs = _cost_jobs(run, [rows[name] for name in keys], trainings)
    run.measured = len(keys)
    scored = any(record.kind == "train" and record.status == "ok" for record in run.records)
    if jobs and scored and "train" in request.phases:
        before()

    def ended(job: Job, result: Result) -> None:
        assert isinstance(job, CostJob)
        for member, own in job.results(result):
            name = model_name(member.model)
            if name in keys:  # the reference is recorded once
                own = replace(own, seconds=result.seconds / len(job.members))
                run.record("cost", rows[name], keys.pop(name), trainings[name], own)

    run.run_phase("cost", jobs, prepared.cost_limits, ended)


def _failed_everywhere(run: Run, row: PlanRow) -> bool:
    """Whether the row was trained in this run, and every training of it failed."""
    own = [r for r in run.records if r.name == row.name and r.kind in ("tune", "train")]
    # Where all trials of settings fail, nothing is trained with them.
    return bool(own) and not any(r.status == "ok" for r in own if r.kind == own[-1].kind)


def _cost_jobs(
    run: Run, rows: Sequence[PlanRow], trainings: Mapping[str, Training]
) -> list[CostJob]:
    """Groups of a few rows, each measured in turns with the reference."""

    prepared = run.prepared
    cells = [row for row in prepared.plan.runnable if row.cell is not None]
    (reference,) = (row for row in cells if row.name == prepared.plan.reference)
    if _failed_everywhere(run, reference):
        reference = next((row for row in cells if not _failed_everywhere(run, row)), reference)
    groups = cost_groups(rows, reference.name)
    return [
        CostJob(
            prepared.setup,
            f"group {number} of {len(groups)} ({len(group) + 1} models)",
            digest(["group", [row.name for row in group], prepared.config]),
            members=tuple(CostMember(r.model, trainings[r.name]) for r in (reference, *group)),
            blocks=prepared.request.blocks or 0,
        )
        for number, group in enumerate(groups, start=1)
    ]


def measure_lengths(
    request: Request, zoo: Zoo, progress: Progress, *, directory: Path, on: str = "local"
) -> list[Record]:
    """Measure every cell at each of the request's lengths, all cells at one before the next.

    Texts are made up and of full length. A cell that runs out of memory or time at one length is
    skipped at the larger ones. Raises ZooError for what cannot be had.
    """
    with open_executor(zoo, on) as executor:
        prepared = PreparedRun(request, zoo, executor, progress)
        with prepared.open(directory) as run:
            stopped: dict[str, str] = {}
            for length in request.lengths:
                _measure_at(run, length, stopped)
    return run.records


def _measure_at(run: Run, length: int, stopped: dict[str, str]) -> None:
    """Measure every cell at one length: take over what is known, record what cannot work.

    stopped: cell to why it is not measured at larger lengths.
    """
    prepared, first, name = run.prepared, len(run.records), f"length {length}"
    training, blocks = prepared.request.training, prepared.request.blocks or HALF
    sizes = prepared.request.sizes.model_copy(update={"max_length": length})
    to_do: list[tuple[PlanRow, str]] = []
    for row in prepared.plan.rows:
        assert row.cell is not None
        reason = row.cell.refusal(sizes, prepared.plan.needs) or stopped.get(row.name, "")
        key = prepared.key("scale", row, training, length, reason, blocks)
        if run.reuse(key):
            continue
        if reason:
            run.record("scale", row, key, training, Result("skipped", reason), value=length)
        else:
            to_do.append((row, key))
    job = CostJob(
        replace(prepared.setup, sizes=sizes),
        name,
        digest(["scale", name, [row.name for row, _ in to_do], prepared.config]),
        members=tuple(CostMember(row.model, full_length=training.batch_size) for row, _ in to_do),
        blocks=blocks,
    )

    def ended(_: Job, result: Result) -> None:
        for (row, key), (_member, own) in zip(to_do, job.results(result), strict=True):
            run.record("scale", row, key, training, _of_steps(own), value=length)

    run.run_phase(name, [job] if to_do else [], prepared.cost_limits, ended)
    for each in run.records[first:]:
        if each.status not in REUSABLE:
            stopped[each.name] = f"{each.status} at {name}"


def _of_steps(result: Result) -> Result:
    """A measurement with the seconds and memory of a step, which a table of lengths shows."""
    if result.status != "ok":
        return result
    memory = result.samples["memory"]
    metrics = {
        f"{phase}_seconds": statistics.median(itertools.chain(*seconds(result.samples, phase)))
        for phase in PHASES
    }
    metrics |= {
        "train_memory_mib": memory["training"]["peak_mib"],
        "infer_memory_mib": memory["inference"]["peak_mib"],
        "memory_how": memory["training"]["how"],
    }
    return replace(result, metrics=metrics)
