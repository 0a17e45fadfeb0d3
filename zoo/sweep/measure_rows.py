"""The cost phase of a run: speed and memory of every row, in groups with the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from zoo.config.settings import Training
from zoo.execution.base import CostJob, CostMember, Job, Result
from zoo.measure.round_ratios import LEAST_ROUNDS, MOST_ROUNDS
from zoo.registry.code_hash import plugin_hashes
from zoo.sweep.keys import cost_key, digest
from zoo.sweep.plan import PlanRow
from zoo.sweep.run_state import RunState, environment_of, identity, what_of

GROUP_SIZE = 6  # models measured in turns besides the reference and its twin


def measure_rows(
    this: RunState, chosen: Mapping[str, Training], only_known: bool, fresh: bool
) -> int:
    """Measure the cost of every row that is not known; how many were measured."""
    rows: list[PlanRow] = []
    keys: dict[str, str] = {}

    def training(row: PlanRow) -> Training:
        return chosen.get(row.name, this.request.training)

    for row in this.plan.runnable:
        key = key_of_cost(this, row, training(row))
        if _failed_everywhere(this, row):
            key = digest(["training failed", key])  # it is measured once a training succeeds
            if not this.reuse(key, True) and not only_known:
                reason = "every training of it failed"
                this.record("cost", row, key, training(row), "skipped", reason)
            continue
        what = what_of("cost", identity(row), None, training(row))
        if not this.reuse(key, only_known or not fresh, what) and not only_known:
            rows.append(row)
            keys[row.name] = key
    jobs = _cost_jobs(this, rows, training)
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
                    metrics={**own.metrics, "seconds": result.seconds / len(job.members)},
                    samples=dict(own.samples),
                    traceback=own.traceback,
                    **environment_of(own),
                )

    this.run_jobs("cost", jobs, ended)
    return len(rows)


def key_of_cost(this: RunState, row: PlanRow, training: Training) -> str:
    """The key of the record of a row's cost."""
    reference = _reference(this)
    plugins = plugin_hashes([*row.choices, *reference.choices, *this.plan.scoring])
    config, environment = this.config(training), this.environment("cost")
    more = reference.name, this.request.rounds
    return cost_key("cost", identity(row), config, plugins, environment, *more)


def cost_groups(rows: Sequence[PlanRow], reference: str) -> list[list[PlanRow]]:
    """The rows besides the reference that are measured together with it; none without rows."""
    others = [row for row in rows if row.name != reference]
    groups = [others[i : i + GROUP_SIZE] for i in range(0, len(others), GROUP_SIZE)]
    return groups or [[]] * bool(rows)


def _reference(this: RunState) -> PlanRow:
    return next(row for row in this.plan.rows if row.name == this.plan.reference)


def _failed_everywhere(this: RunState, row: PlanRow) -> bool:
    """Whether the row was trained in this run, and every training of it failed."""
    trained = [r.status for r in this.records if r.kind == "train" and r.name == row.name]
    return bool(trained) and "ok" not in trained


def _cost_jobs(
    this: RunState,
    rows: Sequence[PlanRow],
    training: Callable[[PlanRow], Training],
) -> list[Job]:
    """Groups of a few rows, each measured in turns with the reference and its twin."""
    reference, groups = _reference(this), cost_groups(rows, this.plan.reference)
    jobs: list[Job] = []
    for number, group in enumerate(groups, start=1):
        members = (
            CostMember(reference.model, training=training(reference)),
            CostMember(reference.model, training=training(reference), twin=True),
            *(CostMember(row.model, training=training(row)) for row in group),
        )
        name = f"group {number} of {len(groups)} ({len(members) - 1} models)"
        key = digest(["group", [row.name for row in group], this.prepared.config])
        asked = this.request.rounds
        job = CostJob(
            this.prepared.setup,
            name,
            key,
            members=members,
            rounds=asked or MOST_ROUNDS,
            least_rounds=0 if asked else LEAST_ROUNDS,
        )
        jobs.append(job)
    return jobs
