"""Speed and memory: of every row of a run, and of every cell at several lengths of texts."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.config.places import refuse_unwritable
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.base import CostJob, CostMember, Job, Result
from zoo.measure.turns import HALF, PHASES, seconds
from zoo.registry import Choice
from zoo.registry.cell import model_name
from zoo.registry.loading import Zoo
from zoo.sweep.keys import digest, result_key
from zoo.sweep.make_request import lengths_command, refuse_several_values
from zoo.sweep.plan import Row, cost_groups
from zoo.sweep.prepare import open_executor, prepare_run
from zoo.sweep.progress import Progress
from zoo.sweep.records import REUSABLE, Record
from zoo.sweep.run import PreparedRun, Run, model_id


def measure_rows(
    run: Run, chosen: Mapping[str, Training], before: Callable[[], None] | None = None
) -> None:
    """Measure the cost of every row that is not known.

    Where the request has no such phase, nothing is measured, and what is there is taken over.
    chosen: row name to its training settings; by default those of the request. before: called
    before the first measurement, if there is one.
    """
    prepared = run.prepared
    asked_for = "cost" in prepared.request.phases
    trainings = {
        row.name: chosen.get(row.name, prepared.request.training) for row in prepared.plan.runnable
    }
    to_do: dict[str, tuple[Row, str]] = {}
    for row in prepared.plan.runnable:
        training = trainings[row.name]
        key = key_of_cost(prepared, row, training)
        if _failed_everywhere(run, row):
            key = digest(["training failed", key])  # it is measured once a training succeeds
            if not run.reuse(key, asked_for=False) and asked_for:
                skipped = Result("skipped", "every training of it failed")
                run.record("cost", row, key, training, skipped)
        elif not run.reuse(key, asked_for=asked_for) and asked_for:
            to_do[row.name] = row, key
    jobs = _cost_jobs(run, [row for row, _ in to_do.values()], trainings)
    run.measured = len(to_do)
    if jobs and before is not None:
        before()

    def ended(job: Job, result: Result) -> None:
        assert isinstance(job, CostJob)
        for member, own in job.results(result):
            name = model_name(member.model)
            if name in to_do:
                row, key = to_do.pop(name)
                own = replace(own, seconds=result.seconds / len(job.members))
                run.record("cost", row, key, trainings[row.name], own)

    run.run_phase("cost", jobs, prepared.cost_limits, ended)


def key_of_cost(prepared: PreparedRun, row: Row, training: Training) -> str:
    """The key of the record of a row's cost."""
    model, code, plan = model_id(row), prepared.code("cost", row), prepared.plan
    more = plan.reference, prepared.request.blocks
    config = prepared.keyed(training)
    return result_key("cost", model, config, code, prepared.cost_environment, *more)


def _failed_everywhere(run: Run, row: Row) -> bool:
    """Whether the row was trained in this run, and every training of it failed."""
    trained = [r.status for r in run.records if r.kind == "train" and r.name == row.name]
    return bool(trained) and "ok" not in trained


def _cost_jobs(run: Run, rows: Sequence[Row], trainings: Mapping[str, Training]) -> list[Job]:
    """Groups of a few rows, each measured in turns with the reference."""

    def member(row: Row) -> CostMember:
        return CostMember(row.model, training=trainings[row.name])

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
            members=(member(reference), *map(member, group)),
            blocks=prepared.request.blocks or 0,
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
    with open_executor(zoo, on) as executor:
        prepared = prepare_run(request, zoo, executor, progress)
        with prepared.open(directory, fresh=fresh) as run:
            stopped: dict[str, str] = {}
            for length in request.lengths:
                _measure_at(run, length, stopped)
    return run.records


def _measure_at(run: Run, length: int, stopped: dict[str, str]) -> None:
    """Measure every cell at one length: take over what is known, record what cannot work.

    stopped: cell to why it is not measured at larger lengths.
    """
    prepared, first = run.prepared, len(run.records)
    request, plan = prepared.request, prepared.plan
    sizes = request.sizes.model_copy(update={"max_length": length})
    blocks = request.blocks or HALF
    config = prepared.keyed(request.training)
    keys: dict[str, str] = {}
    rows: list[Row] = []

    def record(row: Row, result: Result) -> None:
        own = {**prepared.config, "value": length}
        command = lengths_command(request, plan.task, row.model)
        key, training = keys[row.name], request.training
        run.record("scale", row, key, training, result, config=own, command=command)

    for row in plan.rows:
        assert row.cell is not None
        reason = row.cell.refusal(sizes, plan.needs) or stopped.get(row.name, "")
        model, code = {"cell": row.cell_names}, prepared.code("scale", row)
        more = length, reason, blocks
        key = result_key("scale", model, config, code, prepared.cost_environment, *more)
        keys[row.name] = key
        if run.reuse(key, asked_for=True):
            continue
        if reason:
            record(row, Result("skipped", reason))
        else:
            rows.append(row)
    name, batch = f"length {length}", request.training.batch_size
    job = CostJob(
        replace(prepared.setup, sizes=sizes),
        name,
        digest(["scale", name, [row.name for row in rows], dict(prepared.config)]),
        members=tuple(CostMember(row.model, sizes, full_length=batch) for row in rows),
        blocks=blocks,
    )

    def ended(_: Job, result: Result) -> None:
        for row, (_member, own) in zip(rows, job.results(result), strict=True):
            record(row, _costs(own))

    run.run_phase(name, [job] if rows else [], prepared.cost_limits, ended)
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
