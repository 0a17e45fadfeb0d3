"""The effect of each component, averaged over everything it was combined with.

A main effect compares the reference's choice on an axis with another choice on it: the difference
of the metric in each combination of the other axes and each seed, averaged over the combinations.
Every seed gives one such average, so what is known of it is correct however strongly cells of one
seed are correlated. Verdicts are those of the whole report (``verdicts``). Speeds are combined in
the same way as logs, round by round, and memory as a geometric mean. The averages are over the
combinations of this grid.

An interaction is a difference of such differences: how much larger the effect is with one choice
on another axis than with another choice. Interactions of three axes are not computed.

Where the grid is not full, because one factor was varied at a time or a cell failed, each choice
is compared with the reference alone, with everything else as in the reference.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError
from zoo.report.rows import Row, varying_axes
from zoo.report.stats.grid import Grid, Levels, full_grid
from zoo.report.stats.paired import Difference
from zoo.report.stats.ratios import PHASES, Ratio, Speeds, find_reference
from zoo.report.stats.verdicts import Verdicts


@dataclass(frozen=True)
class Effect:
    """The effect of ``component`` compared with ``against``.

    In an interaction ``other`` and ``other_against`` are two choices on another axis, and the
    numbers say how much larger the effect is with the first than with the second.
    difference: of the metric. speed: by phase. memory: a ratio of peak memory in training.
    """

    axis: str
    component: str
    against: str
    difference: Difference | None
    speed: dict[str, Ratio | None]
    memory: float | None
    metric: MetricDescription
    other_axis: str = ""
    other: str = ""
    other_against: str = ""


@dataclass(frozen=True)
class Effects:
    """Main effects in the order of the axes; interactions in that of the grid.

    about: a sentence that says what the main effects are averages over. axes: those compared, with
    their choices. seeds: those of the full grid; none where one factor was varied at a time.
    """

    about: str
    main: list[Effect]
    axes: Levels
    seeds: tuple[int, ...] = ()
    interactions: list[Effect] = field(default_factory=list)


# Pairs of cells, and the weight of each pair in an average.
Pairs = list[tuple[Row, Row, float]]


@dataclass(frozen=True)
class _Sum:
    """What an effect is computed from. names: axis, component, against, and those of another."""

    names: tuple[str, ...]
    pairs: Pairs

    @property
    def weights(self) -> dict[str, float]:
        """Row name to its weight."""
        weights: dict[str, float] = {}
        for plus, minus, weight in self.pairs:
            weights[plus.name] = weights.get(plus.name, 0.0) + weight
            weights[minus.name] = weights.get(minus.name, 0.0) - weight
        return weights


@dataclass(frozen=True)
class _Plan:
    """The effects that rows allow, before anything is computed."""

    about: str
    axes: Levels
    main: list[_Sum]
    seeds: tuple[int, ...] = ()
    interactions: list[_Sum] = field(default_factory=list)


def judge(rows: Sequence[Row], reference: str) -> Verdicts:
    """All verdicts of a report: of every pair of rows, and of the effects that there are."""
    plan = _plan(rows, reference)
    if plan is None:
        return Verdicts(rows)
    return Verdicts(
        rows, [one.weights for one in plan.main], [one.weights for one in plan.interactions]
    )


def make_effects(
    rows: Sequence[Row], reference: str = "", only: Mapping[str, Sequence[str]] = {}
) -> Effects:
    """Effects and interactions of two axes in a full grid; ZooError where it is not full.

    reference: name of a cell; without one, the one that ``find_reference`` chooses. What the whole
    report has a verdict of keeps it, whatever part of the grid ``only`` chooses.
    """
    reference = find_reference(rows, reference)
    return _effects(_full_plan(rows, reference, only), judge(rows, reference), rows, reference)


def main_effects(rows: Sequence[Row], reference: str, verdicts: Verdicts) -> Effects | None:
    """Effects in the full grid, or else of one factor at a time; None where there are neither."""
    plan = _plan(rows, reference)
    return _effects(plan, verdicts, rows, reference) if plan else None


def _effects(plan: _Plan, verdicts: Verdicts, rows: Sequence[Row], reference: str) -> Effects:
    sums = [[one.weights for one in group] for group in (plan.main, plan.interactions)]
    judged, speeds = verdicts.including(*sums), Speeds(rows, reference)
    main, interactions = (
        [_effect(one, judged, speeds) for one in group] for group in (plan.main, plan.interactions)
    )
    return Effects(plan.about, main, plan.axes, plan.seeds, interactions)


def _plan(rows: Sequence[Row], reference: str) -> _Plan | None:
    if all(row.name != reference for row in rows):
        return None  # others may have been measured against it, but its own records are not here
    try:
        return _full_plan(rows, reference)
    except ZooError:
        return _one_factor_plan(rows, reference)


def _full_plan(
    rows: Sequence[Row], reference: str, only: Mapping[str, Sequence[str]] = {}
) -> _Plan:
    grid = full_grid(rows, reference, only)
    main = [
        _Sum((axis, first, other), _pairs(grid, {axis: first}, {axis: other}))
        for axis, (first, *others) in grid.axes.items()
        for other in others
    ]
    interactions = []
    for axis, second in itertools.combinations(grid.axes, 2):
        (one, *ones), (two, *twos) = grid.axes[axis], grid.axes[second]
        for against, other in itertools.product(ones, twos):
            first_pairs = _pairs(grid, {axis: one, second: two}, {axis: against, second: two})
            other_pairs = _pairs(grid, {axis: one, second: other}, {axis: against, second: other})
            pairs = first_pairs + [(plus, minus, -weight) for plus, minus, weight in other_pairs]
            interactions.append(_Sum((axis, one, against, second, two, other), pairs))
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in grid.axes.items())
    about = f"Averaged over the full grid of {shape}."
    return _Plan(about, grid.axes, main, grid.seeds, interactions)


def _one_factor_plan(rows: Sequence[Row], reference: str) -> _Plan | None:
    """Each choice with all else as in the reference; choices that lack a seed are left out."""
    base = next(row for row in rows if row.name == reference)
    sums: list[_Sum] = []
    for row in rows:
        differing = [axis for axis in base.cell if row.cell.get(axis) != base.cell[axis]]
        if row.baseline or len(differing) != 1:
            continue
        try:
            sums += _full_plan([base, row], reference).main
        except ZooError:
            continue  # it failed or was skipped: there is nothing to compare
    if not sums:
        return None
    order = list(base.cell)
    sums.sort(key=lambda one: order.index(one.names[0]))
    about = f"With everything else as in the reference, {reference}."
    return _Plan(about, varying_axes(rows, reference), sums)


def _pairs(grid: Grid, plus: dict[str, str], minus: dict[str, str]) -> Pairs:
    """Two choices in every combination of the axes that they do not fix."""
    others = list(grid.others(*plus))
    return [(grid.at(plus | o), grid.at(minus | o), 1 / len(others)) for o in others]


def _effect(one: _Sum, verdicts: Verdicts, speeds: Speeds) -> Effect:
    axis, component, against, *rest = one.names
    weights = one.weights
    return Effect(
        axis,
        component,
        against,
        verdicts.difference(weights),
        {phase: speeds.contrast(phase, weights) for phase in PHASES},
        _memory(one.pairs),
        one.pairs[0][0].metric,
        *rest,
    )


def _memory(pairs: Pairs) -> float | None:
    total = 0.0
    for plus, minus, weight in pairs:
        peaks = [row.cost.get("peak_memory_mib") for row in (plus, minus)]
        if not peaks[0] or not peaks[1]:
            return None
        total += weight * math.log(peaks[0] / peaks[1])
    return math.exp(total)
