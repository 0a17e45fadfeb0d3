"""What verdicts and intervals of reports (``zoo.report.stats``) say of simulated runs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from bench.simulate.grids import Drawn, Scenario, draw
from zoo.report.stats.intervals import ALPHA, ENOUGH
from zoo.report.stats.paired import Difference, judged, pairs_of, tested, visible_difference
from zoo.report.stats.scores import Scores, row_intervals


@dataclass(frozen=True)
class Outcome:
    """Shares of runs or rows.

    false: runs in which any pair of equal rows is called different. power: pairs of different rows
    that are called so, in the right direction. covered: rows whose interval holds their true value.
    visible: the median of what runs say that they could have seen, in points. runs: how many.
    """

    scenario: Scenario
    false: float
    power: float
    covered: float | None
    visible: float | None
    runs: int


def simulate(scenario: Scenario, runs: int, generator: np.random.Generator) -> Outcome:
    """Many runs of one scenario."""
    false, power, covered = 0, 0.0, 0.0
    visible = []
    for _ in range(runs):
        drawn = draw(scenario, generator)
        first = drawn.scores.duplicates()
        places = sorted(set(first))
        pairs = np.array(list(itertools.combinations(places, 2)), dtype=int).reshape(-1, 2)
        same = drawn.truth[pairs[:, 0]] == drawn.truth[pairs[:, 1]]
        differences = tested(drawn.scores, pairs_of(pairs, scenario.cells))
        if (gap := visible_of(differences, drawn.scores)) is not None:
            visible.append(100 * gap)
        real = np.array([d.real for d in judged(differences)], dtype=bool)
        right = real & (np.array([d.mean for d in differences]) > 0)
        false += bool(real[same].any())
        power += right[~same].mean() if (~same).any() else 0.0
        covered += _covered(drawn)
    return Outcome(
        scenario,
        false=false / runs,
        power=power / runs,
        covered=covered / runs if scenario.seeds >= ENOUGH else None,
        visible=float(np.median(visible)) if visible else None,
        runs=runs,
    )


def visible_of(differences: list[Difference], scores: Scores) -> float | None:
    """What such a run says that it could have seen."""
    known = [d for d in differences if d.p is not None and d.error]
    if not known:
        return None
    level = ALPHA / len(known)
    return visible_difference(known, level, scores.examples, mean=scores.typical())


def _covered(drawn: Drawn) -> float:
    """The share of rows whose interval holds the truth."""
    intervals = row_intervals(drawn.scores)
    held = [
        interval.low is not None
        and interval.high is not None
        and interval.low <= true <= interval.high
        for interval, true in zip(intervals, drawn.truth, strict=True)
    ]
    return float(np.mean(held))
