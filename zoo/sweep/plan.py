"""All cells of a request, each marked *run* or *skipped: reason*, before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from zoo.config.request import Design, Request
from zoo.errors import ZooError, nearest
from zoo.execution.base import Subject
from zoo.registry import AXES, Choice, Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import Task
from zoo.tasks.catalog import find_task


@dataclass(frozen=True)
class Planned:
    """One row to be: a cell or a baseline, and why it cannot run (empty where it can)."""

    subject: Subject
    obstacle: str = ""
    cell: Cell | None = None
    baseline: Choice | None = None

    @property
    def name(self) -> str:
        """The row's name."""
        return self.subject.name

    @property
    def choices(self) -> list[Choice]:
        """The components the row is made of."""
        if self.cell is None:
            return [self.baseline] if self.baseline else []
        return [getattr(self.cell, axis) for axis in AXES]


@dataclass(frozen=True)
class Plan:
    """Cells first, baselines after them; the reference is one of the cells that can run."""

    rows: tuple[Planned, ...]
    reference: str

    @property
    def runnable(self) -> list[Planned]:
        """The rows that nothing stands against."""
        return [row for row in self.rows if not row.obstacle]


def make_plan(request: Request, registry: Registry) -> Plan:
    """The cells of a request's design; ZooError where a name is unknown or an axis empty."""
    task = find_task(request.task)
    axes = [registry.choices(axis, getattr(request, axis)) for axis in AXES]
    rows = []
    for choices in DESIGNS[request.design](axes):
        cell = Cell(*choices)
        obstacle = cell.obstacle(request.sizes.dim, request.sizes.heads, task.name)
        rows.append(Planned(Subject(cell=tuple(cell.names.items())), obstacle, cell=cell))
    _refuse_hopeless(rows, request)
    reference = _reference(rows, request.reference)
    if request.baseline.strip() not in ("", "none"):
        for choice in _baselines(request, registry, task):
            rows.append(Planned(Subject(baseline=str(choice)), baseline=choice))
    return Plan(tuple(rows), reference)


def _factorial(axes: Sequence[Sequence[Choice]]) -> Iterator[tuple[Choice, ...]]:
    """Every choice of an axis with every one of the others."""
    return itertools.product(*axes)


def _one_factor(axes: Sequence[Sequence[Choice]]) -> Iterator[tuple[Choice, ...]]:
    """The first choice of every axis, and then whatever differs from that in one axis alone."""
    base = tuple(choices[0] for choices in axes)
    yield base
    for place, choices in enumerate(axes):
        for other in choices[1:]:
            yield (*base[:place], other, *base[place + 1 :])


DESIGNS: dict[Design, Callable[[Sequence[Sequence[Choice]]], Iterator[tuple[Choice, ...]]]] = {
    "factorial": _factorial,
    "one-factor": _one_factor,
}


def _baselines(request: Request, registry: Registry, task: Task) -> list[Choice]:
    """Those asked for; ``all`` are all that can stand beside this task's models."""
    choices = registry.choices("baseline", request.baseline)
    fitting = [choice for choice in choices if task.takes(choice)]
    if request.baseline.strip() == "all" or len(fitting) == len(choices):
        return fitting
    strange = next(choice for choice in choices if choice not in fitting)
    known = [registry.label(c) for c in registry.components("baseline") if task.takes(c)]
    raise ZooError(
        f"--baseline {strange} does not stand beside {task.model} (--task {task.name}); "
        f"there is: {', '.join([*known, 'none'])}"
    )


def _refuse_hopeless(rows: list[Planned], request: Request) -> None:
    """Sizes that no cell at all can be built with are a wrong request, not a table of skips."""
    reasons = {row.obstacle for row in rows}
    if "" in reasons:
        return
    raise ZooError(f"nothing can run: {'; '.join(sorted(reasons))}")


def _reference(rows: list[Planned], wanted: str) -> str:
    """The name of the cell that ratios are to: the first that can run, unless one is asked for.

    ``wanted`` names some of the cell's choices, joined by '+': ``fused+sin``.
    """
    names = [row for row in rows if not row.obstacle]
    if not wanted:
        return names[0].name
    parts = {part.strip() for part in wanted.split("+")}
    for row in names:
        if parts <= {choice for _, choice in row.subject.cell}:
            return row.name
    raise ZooError(
        f"--reference {wanted}: no such cell can run{nearest(wanted, [r.name for r in names])}"
    )
