"""All rows of a request, each marked *run* or *skipped: reason*, before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from zoo.config.metric_description import ranked_by
from zoo.config.request import Design, Request
from zoo.errors import ZooError, nearest
from zoo.execution.base import ModelSpec
from zoo.registry import AXES, Choice, Pattern, Registry
from zoo.registry.cell import Cell
from zoo.sweep.initial_parts import other_parts, refuse_missing_texts, refuse_sizes
from zoo.tasks.base import Task, find_task
from zoo.tasks.data_of_task import refuse_unread


@dataclass(frozen=True)
class PlanRow:
    """One row of the table to be. obstacle: why it cannot run; empty where it can.

    choices: the components that the row is made of, for a baseline itself alone. is_estimator: it
    is a baseline outside of the training loop. condition: of the data, without which there is no
    such row (``Task.baseline_rows``); empty: always.
    """

    model: ModelSpec
    choices: tuple[Choice, ...]
    obstacle: str = ""
    is_estimator: bool = False
    condition: str = ""

    @property
    def name(self) -> str:
        """The row's name."""
        return self.model.name

    def trained_with(self, seed: int, seeds: Sequence[int]) -> bool:
        """Whether it is trained with this one of the seeds: a deterministic fit only with one."""
        fitted_once = self.model.baseline and self.choices[0].can("deterministic")
        return seed == seeds[0] or not fitted_once


@dataclass(frozen=True)
class Plan:
    """Cells first, baselines after them.

    scoring: the choices of the task and its metrics, whose code every result depends on.
    reference: the name of a cell that can run. needs: axis to the capabilities that the task
    needs. metric: the one that ranks rows; empty for the task's first.
    """

    task: Task
    scoring: tuple[Choice, ...]
    rows: tuple[PlanRow, ...]
    reference: str
    needs: Mapping[str, frozenset[str]]
    metric: str = ""

    def with_data(self, conditions: Collection[str]) -> Plan:
        """The plan for data of which these conditions are true; its rows have none left."""
        there = (row for row in self.rows if not row.condition or row.condition in conditions)
        return replace(self, rows=tuple(replace(row, condition="") for row in there))

    @property
    def runnable(self) -> list[PlanRow]:
        """The rows that can run."""
        return [row for row in self.rows if not row.obstacle]


def make_plan(request: Request, registry: Registry) -> Plan:
    """The rows of a request's design; ZooError where a name is unknown or no cell can run."""
    task = find_task(registry, request.task)
    refuse_unread(registry, task, request.task, request.data)
    needs = task.needs_of(task.options.model_validate(request.task_options))
    axes = [registry.patterns(axis, getattr(request, axis)) for axis in AXES]
    refuse_sizes(request)
    refuse_missing_texts(request)
    rows = []
    for patterns in DESIGNS[request.design](axes):
        cell = Cell(*patterns)
        if too_long := cell.too_long(request.sizes.layers):
            raise ZooError(f"--{too_long} (--layers)")
        obstacle = cell.refusal(request.sizes, needs)
        obstacle = obstacle or other_parts(request, cell)
        rows.append(PlanRow(ModelSpec(cell.names), cell.choices, obstacle))
    obstacles = {row.obstacle for row in rows}
    if "" not in obstacles:
        raise ZooError(f"nothing can run: {'; '.join(sorted(obstacles))}")
    reference = _reference([row for row in rows if not row.obstacle], request.reference)
    if request.baseline.strip() not in ("", "none"):
        given = _baselines(request, registry, task)
        names = {str(choice) for choice in given}
        for choice, condition in task.baseline_rows(given, registry):
            if not condition or str(choice) not in names:
                model, is_estimator = ModelSpec(baseline=str(choice)), task.is_estimator(choice)
                rows.append(PlanRow(model, (choice,), "", is_estimator, condition))
    scoring = registry.choose("task", request.task), *task.metric_choices(registry)
    described = [choice.build().description for choice in task.metric_choices(registry)]
    ranked_by(described, request.metric)  # a wrong name is an error of the plan
    return Plan(task, scoring, tuple(rows), reference, needs, request.metric)


def _factorial(axes: Sequence[Sequence[Pattern]]) -> Iterator[tuple[Pattern, ...]]:
    """Every pattern of an axis with every one of the others."""
    return itertools.product(*axes)


def _one_factor(axes: Sequence[Sequence[Pattern]]) -> Iterator[tuple[Pattern, ...]]:
    """The first pattern of every axis, and then all that differ from it in one axis."""
    base = tuple(patterns[0] for patterns in axes)
    yield base
    for place, patterns in enumerate(axes):
        for other in patterns[1:]:
            yield (*base[:place], other, *base[place + 1 :])


DESIGNS: dict[Design, Callable[[Sequence[Sequence[Pattern]]], Iterator[tuple[Pattern, ...]]]] = {
    "factorial": _factorial,
    "one-factor": _one_factor,
}


def _baselines(request: Request, registry: Registry, task: Task) -> list[Choice]:
    """The baselines asked for; ``all``: all that fit the task."""
    choices = registry.choices("baseline", request.baseline)
    accepted = [choice for choice in choices if task.accepts(choice)]
    if request.baseline.strip() == "all" or len(accepted) == len(choices):
        return accepted
    other = next(choice for choice in choices if choice not in accepted)
    known = [registry.label(c) for c in registry.components("baseline") if task.accepts(c)]
    raise ZooError(
        f"--baseline {other} cannot be compared with {task.model_name} (--task {request.task}); "
        f"there is: {', '.join([*known, 'none'])}"
    )


def _reference(rows: list[PlanRow], wanted: str) -> str:
    """The name of the cell that speeds are compared with: the first, or the one asked for."""
    if not wanted:
        return rows[0].name
    parts = {part.strip() for part in wanted.split("+")}
    for row in rows:
        if parts <= set(row.model.cell.values()):
            return row.name
    raise ZooError(
        f"--reference {wanted}: no such cell can run{nearest(wanted, [r.name for r in rows])}"
    )
