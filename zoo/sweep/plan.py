"""All rows of a request, each marked *run* or *skipped: reason*, and the trainings they come to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from zoo.config.flags import spelt
from zoo.config.metric_description import ranked_by
from zoo.config.request import Design, Request
from zoo.config.settings import Training
from zoo.errors import ZooError, counted, nearest
from zoo.execution.base import ModelSpec
from zoo.registry import AXES, BUILT_IN, Choice, Pattern, Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import Task, find_task
from zoo.tasks.data_of_task import refuse_unread

GROUP_SIZE = 6  # models measured in turns besides the reference and its twin
MOST_CELLS = 20_000  # all parts crossed are billions, which no memory holds


@dataclass(frozen=True)
class PlanRow:
    """One row of the table to be: a cell or a baseline.

    skip_reason: why it cannot run; empty where it can. tunable: its training settings can be
    chosen; a baseline outside of the training loop has none. condition: of the data, without which
    there is no such row (``Task.baseline_rows``); empty: always.
    """

    cell: Cell | None = None
    baseline: Choice | None = None
    skip_reason: str = ""
    tunable: bool = True
    condition: str = ""

    @cached_property
    def model(self) -> ModelSpec:
        """Its name and parts as text, for jobs and records."""
        if self.cell is not None:
            return ModelSpec(self.cell.names)
        return ModelSpec(baseline=str(self.baseline))

    @property
    def name(self) -> str:
        """The row's name."""
        return self.model.name

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The components that it is made of; a baseline is one by itself."""
        if self.cell is not None:
            return self.cell.choices
        return () if self.baseline is None else (self.baseline,)

    @property
    def exact(self) -> bool:
        """Whether it is a cell whose attention is exact in every layer, with the model's heads."""
        found = [choice for choice in self.choices if choice.component.kind == "attention"]
        return bool(found) and all(c.can("exact") and not c.can("one-head") for c in found)

    def trained_with(self, seed: int, seeds: Sequence[int]) -> bool:
        """Whether it is trained with this one of the seeds: a deterministic fit only with one."""
        fitted_once = self.baseline is not None and self.baseline.can("deterministic")
        return seed == seeds[0] or not fitted_once


@dataclass(frozen=True)
class Plan:
    """Cells first, baselines after them.

    scoring: the choices of the task and its metrics, whose code every result depends on.
    reference: the name of a cell that can run. needs: axis to the capabilities that the task needs.
    """

    task: Task
    scoring: tuple[Choice, ...]
    rows: tuple[PlanRow, ...]
    reference: str
    needs: Mapping[str, frozenset[str]]

    def with_data(self, conditions: Collection[str]) -> Plan:
        """The plan for data that meet these conditions; its rows have none left."""
        there = (row for row in self.rows if not row.condition or row.condition in conditions)
        return replace(self, rows=tuple(replace(row, condition="") for row in there))

    @property
    def runnable(self) -> list[PlanRow]:
        """The rows that can run."""
        return [row for row in self.rows if not row.skip_reason]


@dataclass(frozen=True)
class Fit:
    """One training of a row."""

    row: PlanRow
    seed: int
    training: Training


def make_plan(request: Request, registry: Registry) -> Plan:
    """The rows of a request's design; ZooError where a name is unknown or no cell can run."""
    task = find_task(registry, request.task)
    refuse_unread(registry, task, request.task, request.data)
    needs = task.needs_of(task.options.model_validate(request.task_options))
    axes = [registry.patterns(axis, getattr(request, axis)) for axis in AXES]
    _refuse_pretraining(request)
    cells = math.prod(map(len, axes)) if request.design == "factorial" else 0
    if cells > MOST_CELLS:
        raise ZooError(
            f"{cells:,} cells: at most {MOST_CELLS:,}; choose fewer parts, or --design one-factor"
        )
    rows = []
    for patterns in DESIGNS[request.design](axes):
        cell = Cell(*patterns)
        if too_long := cell.too_long(request.sizes.layers):
            raise ZooError(f"--{too_long} (--set layers)")
        reason = cell.refusal(request.sizes, needs) or _not_as_saved(request, cell)
        rows.append(PlanRow(cell, skip_reason=reason))
    reference = _reference(_able(rows), request.reference)
    if request.baseline.strip() not in ("", "none"):
        given = _baselines(request, registry, task)
        names = {str(choice) for choice in given}
        for choice, condition in task.baseline_rows(given, registry):
            if not condition or str(choice) not in names:
                tunable = not task.is_estimator(choice)
                rows.append(PlanRow(baseline=choice, tunable=tunable, condition=condition))
    scoring = registry.choose("task", request.task), *task.metric_choices(registry)
    described = [choice.build().description for choice in task.metric_choices(registry)]
    ranked_by(described, request.metric)  # a wrong name is an error of the plan
    return Plan(task, scoring, tuple(rows), reference, needs)


def _one_factor(axes: Sequence[Sequence[Pattern]]) -> Iterator[tuple[Pattern, ...]]:
    """The first pattern of every axis, and then all that differ from it in one axis."""
    base = tuple(patterns[0] for patterns in axes)
    yield base
    for place, patterns in enumerate(axes):
        for other in patterns[1:]:
            yield (*base[:place], other, *base[place + 1 :])


DESIGNS: dict[Design, Callable[[Sequence[Sequence[Pattern]]], Iterator[tuple[Pattern, ...]]]] = {
    "factorial": lambda axes: itertools.product(*axes),
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


def _able(cells: Sequence[PlanRow]) -> list[PlanRow]:
    """The cells that can run; ZooError where none can."""
    if able := [row for row in cells if not row.skip_reason]:
        return able
    raise ZooError(f"nothing can run: {'; '.join(sorted({row.skip_reason for row in cells}))}")


def _reference(rows: Sequence[PlanRow], wanted: str) -> str:
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


def _refuse_pretraining(request: Request) -> None:
    """ZooError where a saved model has other sizes."""
    initial = request.initial
    assert (initial is not None) == request.pretraining.from_model, "with_saved_encoders is missing"
    if initial is None:
        return
    saved, asked = initial.sizes.model_dump(), request.sizes.model_dump()
    if differ := [name for name in saved if saved[name] != asked[name]]:
        theirs, here = (
            " ".join(spelt(name, sizes[name]) for name in differ) for sizes in (saved, asked)
        )
        raise ZooError(
            f"--init {initial.directory}: its model has {theirs}, and this run {here}: sizes must "
            "agree"
        )


def _not_as_saved(request: Request, cell: Cell) -> str:
    """The first axis on which a cell's encoder has other parts than the saved one; else empty."""
    for axis, saved in request.initial.cell.items() if request.initial else ():
        here = tuple(str(getattr(cell, axis).at(layer)) for layer in range(request.sizes.layers))
        if here != saved:
            assert request.initial is not None
            one, other = ("/".join(dict.fromkeys(choices)) for choices in (saved, here))
            return f"--init {request.initial.directory.name} has {axis} {one}, not {other}"
    return ""


def tuning_fits(request: Request, plan: Plan) -> Iterator[Fit]:
    """Every tunable row with every combination of settings; none where there is nothing to choose.

    Raises ZooError for more tuning seeds than seeds.
    """
    if not request.tuned:
        return
    seeds = request.seeds[: request.tuning_seeds]
    if len(seeds) < request.tuning_seeds:
        raise ZooError(
            f"--set tuning_seeds={request.tuning_seeds}: only {len(request.seeds)} in --seeds; "
            "ask for more there"
        )
    held_out = {"validation": request.tuning_share}
    for seed, row in itertools.product(seeds, plan.runnable):
        for training in request.trainings() if row.tunable else ():
            yield Fit(row, seed, training.model_copy(update=held_out))


def seed_fits(request: Request, plan: Plan, chosen: Mapping[str, Training]) -> Iterator[Fit]:
    """Every row for which settings were chosen, by its name, with every seed."""
    # Seeds outermost: an interrupted run then has whole rounds of cells to compare.
    for seed, row in itertools.product(request.seeds, plan.runnable):
        if row.name in chosen and row.trained_with(seed, request.seeds):
            yield Fit(row, seed, chosen[row.name])


def all_fits(request: Request, plan: Plan) -> tuple[list[Fit], list[Fit]]:
    """What is trained at most: to choose settings, and once they are chosen.

    As long as none are chosen, the second have the settings of the request.
    """
    if "train" not in request.phases:
        return [], []
    chosen = dict.fromkeys((row.name for row in plan.runnable), request.training)
    return list(tuning_fits(request, plan)), list(seed_fits(request, plan, chosen))


def cost_groups(rows: Sequence[PlanRow], reference: str) -> list[list[PlanRow]]:
    """The rows besides the reference that are measured together with it; none without rows."""
    if not rows:
        return []
    others = [row for row in rows if row.name != reference]
    return [others[i : i + GROUP_SIZE] for i in range(0, max(1, len(others)), GROUP_SIZE)]


def counts(request: Request, plan: Plan) -> str:
    """How much a plan runs at most, in words."""
    tuning, trainings = all_fits(request, plan)
    parts = []
    if tuning or trainings:
        of_tuning = f" ({len(tuning)} to choose settings)" if tuning else ""
        parts.append(counted(len(tuning) + len(trainings), "training") + of_tuning)
    if "cost" in request.phases:
        groups = cost_groups(plan.runnable, plan.reference)
        measured = sum(len(group) + 2 for group in groups)  # with the reference and its twin
        in_groups = counted(len(groups), "group")
        parts.append(f"{counted(measured, 'cost measurement')} in {in_groups}")
    return ", ".join(parts)


# A component's declared capabilities say what it cannot be combined with; that it takes no three
# heads, say, shows only when it is built. The zoo's own declare all that they refuse, so only rows
# with parts of others are probed: few models in which every part of every row is built once.
_PROBED = (("attention", "pe"), ("norm",), ("ffn",), ("pool",))
_PROBED_BLOCK = ("attention", "ffn", "block")  # a block is given the other two when it is built
# What a part is probed with; no sizes that a plan allows are refused by these.
_PLAIN = {axis: Request.model_fields[axis].default for axis in AXES} | {"pe": "none"}


def probe_models(plan: Plan) -> tuple[ModelSpec, ...]:
    """Few models in which every part of every row is built once, to see what parts refuse."""
    return tuple({probe.name: probe for row in plan.runnable for probe in _probes(row)}.values())


def with_refusals(plan: Plan, refused: Mapping[str, str]) -> Plan:
    """The plan with a reason for every row that has a refused part.

    refused: names of ``probe_models`` to reasons. Raises ZooError where no cell is left.
    """
    if not refused:
        return plan
    rows = []
    for row in plan.rows:
        reasons = (refused[probe.name] for probe in _probes(row) if probe.name in refused)
        rows.append(replace(row, skip_reason=row.skip_reason or next(reasons, "")))
    able = [row.name for row in _able([row for row in rows if row.cell is not None])]
    reference = plan.reference if plan.reference in able else able[0]
    return replace(plan, rows=tuple(rows), reference=reference)


def _probes(row: PlanRow) -> Iterator[ModelSpec]:
    """The row's parts one by one among the zoo's own, a block of others with what it is given.

    Values that a user gave are tried with the whole row, and are an error where they are refused.
    """
    foreign = [c for c in row.choices if c.component.owner.distribution != BUILT_IN]
    if row.cell is None or not foreign:
        return
    block = any(choice.component.kind == "block" for choice in foreign)
    for axes in (*_PROBED, _PROBED_BLOCK) if block else _PROBED:
        yield ModelSpec({**_PLAIN, **{axis: row.model.cell[axis] for axis in axes}})
