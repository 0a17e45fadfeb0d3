"""What verdicts and intervals say of simulated runs, by today's tests and by those before them.

Before: a t-test for every pair by itself and the test over documents, with Holm's correction
for all pairs, and a t-interval of every row. After: what reports use (``zoo.report.stats``).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from bench.simulate.grids import Drawn, Scenario, draw
from zoo.report.stats.intervals import ALPHA, ENOUGH, Array, t_quantile
from zoo.report.stats.paired import (
    Difference,
    holm,
    judged,
    p_of_votes,
    pairs_of,
    tested,
    visible_difference,
)
from zoo.report.stats.scores import Scores, row_intervals


@dataclass(frozen=True)
class Outcome:
    """Shares of runs or rows, before and after.

    false: runs in which any pair of equal rows is called different. power: pairs of different rows
    that are called so, in the right direction. covered: rows whose interval holds their true value.
    visible: the median of what runs say that they could have seen, in points. runs: how many.
    """

    scenario: Scenario
    false: tuple[float, float]
    power: tuple[float, float]
    covered: tuple[float, float] | None
    visible: float | None
    runs: int


def simulate(scenario: Scenario, runs: int, generator: np.random.Generator) -> Outcome:
    """Many runs of one scenario."""
    false, power, covered = np.zeros(2), np.zeros(2), np.zeros(2)
    visible = []
    for _ in range(runs):
        drawn = draw(scenario, generator)
        first = drawn.scores.duplicates()
        places = np.flatnonzero(first == np.arange(scenario.cells))
        pairs = np.array(list(itertools.combinations(places, 2)), dtype=int).reshape(-1, 2)
        same = drawn.truth[pairs[:, 0]] == drawn.truth[pairs[:, 1]]
        found = tested(drawn.scores, pairs_of(pairs, scenario.cells))
        if (gap := visible_of(found, drawn.scores)) is not None:
            visible.append(100 * gap)
        for side, real in enumerate(
            (_before(found, scenario.examples), [d.real for d in judged(found)])
        ):
            right = np.array(real, dtype=bool) & (np.array([d.mean for d in found]) > 0)
            false[side] += bool(np.array(real, dtype=bool)[same].any())
            power[side] += right[~same].mean() if (~same).any() else 0.0
        covered += _covered(drawn)
    return Outcome(
        scenario,
        false=(float(false[0] / runs), float(false[1] / runs)),
        power=(float(power[0] / runs), float(power[1] / runs)),
        covered=(float(covered[0] / runs), float(covered[1] / runs))
        if scenario.seeds >= ENOUGH
        else None,
        visible=float(np.median(visible)) if visible else None,
        runs=runs,
    )


def visible_of(found: list[Difference], scores: Scores) -> float | None:
    """What such a run says that it could have seen."""
    known = [d for d in found if d.p is not None and d.error]
    if not known:
        return None
    level = ALPHA / len(known)
    return visible_difference(known, level, scores.examples, mean=scores.typical())


def _before(found: list[Difference], examples: int) -> list[bool]:
    """Per-pair t-tests and the test over documents, with Holm's correction."""
    tests: list[float | None] = []
    for one in found:
        votes = one.mean * one.seeds * examples
        documents = float(p_of_votes(np.array(votes), np.array(one.disputed)))
        tests.append(None if one.p is None else max(one.alone, documents))
    return [p is not None and p < ALPHA for p in holm(tests)]


def _covered(drawn: Drawn) -> Array:
    """The share of rows whose interval holds the truth, before and after."""
    values, truth = drawn.scores.values, drawn.truth
    count = values.shape[1]
    if count < ENOUGH:
        return np.full(2, np.nan)
    half = t_quantile(count - 1) * values.std(axis=1, ddof=1) / np.sqrt(count)
    before = np.abs(values.mean(axis=1) - truth) <= half
    after = [
        one is not None and one.ends is not None and one.ends[0] <= true <= one.ends[1]
        for one, true in zip(row_intervals(drawn.scores), truth, strict=True)
    ]
    return np.array([before.mean(), np.mean(after)])
