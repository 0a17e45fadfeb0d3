"""What each component bought, averaged over everything it was combined with.

A main effect holds the reference's choice of an axis against another choice of it: the difference
of scores in each combination of the other axes and each seed, averaged over the combinations.
Every seed gives one such average, and these are the sample: the interval is a t-interval over
seeds, right however much cells of one seed have in common. Speeds are combined the same way in
logs, round by round, and memory as a geometric mean. The averages are over the combinations of
this grid, not over all that could be.

An interaction is a difference of such differences: how much more the choice is worth with one
choice of another axis than with another. Interactions of three axes are not looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from zoo.report.stats.grid import Grid, full_grid
from zoo.report.stats.paired import Difference, Term, corrected, difference
from zoo.report.stats.ratios import PHASES, Ratio, Speeds
from zoo.report.tables.rows import Row
from zoo.report.tables.table import find_reference
from zoo.tasks.score import Score


@dataclass(frozen=True)
class Effect:
    """What ``component`` bought against ``against``.

    In an interaction ``other`` and ``other_against`` are two choices of another axis, and the
    numbers say how much more it bought with the first of them than with the second.
    difference: of the task's score. speed: by phase. memory: a ratio of peak memory in training.
    """

    axis: str
    component: str
    against: str
    difference: Difference | None
    speed: dict[str, Ratio | None]
    memory: float | None
    score: Score
    other_axis: str = ""
    other: str = ""
    other_against: str = ""

    @property
    def accuracy(self) -> Difference | None:
        """The difference, by the name it has where the score is an accuracy."""
        return self.difference


@dataclass(frozen=True)
class Effects:
    """Main effects in the order of the axes; interactions in that of the grid."""

    grid: Grid
    main: list[Effect]
    interactions: list[Effect]


# Pairs of cells, and the weight of each pair in an average.
Pairs = list[tuple[Row, Row, float]]


def make_effects(
    rows: Sequence[Row], reference: str = "", only: Mapping[str, Sequence[str]] = {}
) -> Effects:
    """Effects and interactions of two axes in a full grid; ZooError where it is not full."""
    reference = find_reference(rows, reference)
    grid, speeds = full_grid(rows, reference, only), Speeds(rows, reference)
    main = [
        _effect(_pairs(grid, {axis: first}, {axis: other}), grid, speeds, (axis, first, other))
        for axis, (first, *others) in grid.axes.items()
        for other in others
    ]
    interactions = []
    for axis, second in itertools.combinations(grid.axes, 2):
        (one, *ones), (two, *twos) = grid.axes[axis], grid.axes[second]
        for against, other in itertools.product(ones, twos):
            here = _pairs(grid, {axis: one, second: two}, {axis: against, second: two})
            there = _pairs(grid, {axis: one, second: other}, {axis: against, second: other})
            pairs = here + [(plus, minus, -weight) for plus, minus, weight in there]
            named = (axis, one, against, second, two, other)
            interactions.append(_effect(pairs, grid, speeds, named))
    return Effects(grid, _corrected(main), _corrected(interactions))


def _pairs(grid: Grid, plus: dict[str, str], minus: dict[str, str]) -> Pairs:
    """Two choices in every combination of the axes that they do not fix."""
    others = list(grid.others(*plus))
    return [(grid.at(plus | o), grid.at(minus | o), 1 / len(others)) for o in others]


def _effect(pairs: Pairs, grid: Grid, speeds: Speeds, named: tuple[str, ...]) -> Effect:
    axis, component, against, *rest = named
    weights: dict[str, float] = {}
    for plus, minus, weight in pairs:
        weights[plus.name] = weights.get(plus.name, 0.0) + weight
        weights[minus.name] = weights.get(minus.name, 0.0) - weight
    terms = [Term(plus, minus, weight) for plus, minus, weight in pairs]
    return Effect(
        axis,
        component,
        against,
        difference(terms, grid.seeds),
        {phase: speeds.contrast(phase, weights) for phase in PHASES},
        _memory(pairs),
        pairs[0][0].score,
        *rest,
    )


def _memory(pairs: Pairs) -> float | None:
    total = 0.0
    for plus, minus, weight in pairs:
        peaks = [
            row.probe.metrics.get("peak_memory_mib") if row.probe else None for row in (plus, minus)
        ]
        if not peaks[0] or not peaks[1]:
            return None
        total += weight * math.log(peaks[0] / peaks[1])
    return math.exp(total)


def _corrected(effects: list[Effect]) -> list[Effect]:
    """Differences corrected for how many of their kind are looked at."""
    found = corrected([effect.difference for effect in effects])
    return [replace(e, difference=d) for e, d in zip(effects, found, strict=True)]
