"""Which rows a component refuses when it is built: reasons of the plan, before anything runs.

A component's declared capabilities say what it cannot be combined with; that it takes no three
heads, say, shows only when it is built. The zoo's own declare all that they refuse, so only rows
with others are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.execution.base import ModelSpec
from zoo.registry import AXES, BUILT_IN, Choice
from zoo.sweep.plan import Plan, PlanRow

PARTS = (("attention", "pe"), ("norm",), ("ffn",), ("pool",))
# A block is given these two when it is built.
BLOCK = ("attention", "ffn", "block")
# What a part is tried with; no sizes that a plan allows are refused by these.
PLAIN = {axis: Request.model_fields[axis].default for axis in AXES} | {"pe": "none"}


def trial_models(plan: Plan) -> tuple[ModelSpec, ...]:
    """Few models in which every part of every row is built once."""
    trials = {trial.name: trial for row in plan.runnable for trial in _trials_of(row)}
    return tuple(trials.values())


def with_refusals(plan: Plan, refused: Mapping[str, str]) -> Plan:
    """The plan with a reason for every row of which a part is refused.

    refused: names of ``trial_models`` to reasons. Raises ZooError where no cell is left.
    """
    if not refused:
        return plan
    rows = tuple(replace(row, obstacle=row.obstacle or _reason(row, refused)) for row in plan.rows)
    able = [row.name for row in rows if row.model.cell and not row.obstacle]
    if not able:
        reasons = {row.obstacle for row in rows if row.model.cell}
        raise ZooError(f"nothing can run: {'; '.join(sorted(reasons))}")
    reference = plan.reference if plan.reference in able else able[0]
    return replace(plan, rows=rows, reference=reference)


def _reason(row: PlanRow, refused: Mapping[str, str]) -> str:
    names = (trial.name for trial in _trials_of(row))
    return next((refused[name] for name in names if name in refused), "")


def _trials_of(row: PlanRow) -> Iterator[ModelSpec]:
    """The row's parts one by one among the zoo's own: an encoding with its attention, and a block
    that is not the zoo's with its attention and its network.

    Values that a user gave are tried with the whole row, and are an error where they are refused.
    """
    if not row.model.cell or not any(map(_foreign, row.choices)):
        return
    block = any(_foreign(choice) for choice in row.choices if choice.component.kind == "block")
    for axes in (*PARTS, BLOCK) if block else PARTS:
        yield ModelSpec({**PLAIN, **{axis: row.model.cell[axis] for axis in axes}})


def _foreign(choice: Choice) -> bool:
    """Whether it, or what it is built around, is not the zoo's own."""
    return any(one.component.owner.distribution != BUILT_IN for one in choice.nested)
