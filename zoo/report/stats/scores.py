"""The scores of a report's rows as arrays, and the intervals of their means over seeds.

A t-interval is symmetric, reaches beyond 1, and has no width where all seeds are perfect. A share
has a variance φ p (1 - p) instead, with a dispersion φ that is shrunk towards that of the other
rows (``intervals.moderate``). The interval holds every p with

    (p̂ - p)² ≤ t² φ p (1 - p) / S,

which is Wilson's (1927) with S / φ in place of the number of trials and a quantile of t in place of
the normal one (Kott and Carr 1997 use it for samples in clusters, such as seeds).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.report.rows import Row
from zoo.report.stats.intervals import (
    ENOUGH,
    ROUNDING,
    Array,
    Interval,
    moderate,
    t_quantile,
    wilson,
)

UNCOUNTED = 1000  # examples that are assumed where the records do not say how many there were


@dataclass(frozen=True)
class Scores:
    """One metric of R rows with S seeds.

    values: (R, S), NaN where a row lacks a seed. fixed: (R,), rows that training again would not
    change; they have a value for every seed. share: whether the metric lies between 0 and 1.
    examples: how many each value is the share of, 0 where it is not a share of right examples.
    counted: how many examples were scored, whatever the metric. wrong: (S, R, N), which examples a
    row got wrong with a seed. listed: (S, R), where that is known. visible: the smallest difference
    that is printed, where the metric is no share of examples. enough: seeds that a test needs.
    """

    values: Array
    fixed: NDArray[np.bool_]
    share: bool
    examples: int
    counted: int
    wrong: NDArray[np.bool_]
    listed: NDArray[np.bool_]
    visible: float = 0.0
    enough: int = ENOUGH

    @property
    def expected(self) -> Array:
        """(R,): the variance of a row's value up to a common factor: p (1 - p) for a share.

        p counts half an example more on each side (Jeffreys), so that a perfect row has some.
        """
        if not self.share:
            return np.ones(len(self.values))
        counted = self.counted or UNCOUNTED
        total = (~np.isnan(self.values)).sum(axis=1) * counted
        p = (np.nansum(self.values, axis=1) * counted + 0.5) / (total + 1)
        return np.asarray(np.clip(p * (1 - p), ROUNDING, None))

    def typical(self, rows: Sequence[int] | None = None) -> float | None:
        """The median of these rows' means, by default of all; None where it is no share."""
        means = np.nanmean(self.values if rows is None else self.values[rows], axis=1)
        return float(np.median(means)) if self.share else None

    def duplicates(self) -> NDArray[np.int_]:
        """(R,): for each row, the first one with the same results, itself where there is none.

        The same: the same seeds and values and, where known, the same wrong examples.
        """
        first = np.arange(len(self.values))
        means = np.nanmean(self.values, axis=1)
        for later in range(1, len(first)):
            for row in np.flatnonzero(np.abs(means[:later] - means[later]) < ROUNDING):
                if first[row] == row and self._equal(int(row), later):
                    first[later] = row
                    break
        return first

    def _equal(self, first: int, second: int) -> bool:
        mine, theirs = self.values[[first, second]]
        there = ~np.isnan(mine)
        if there.sum() < 2 or (there != ~np.isnan(theirs)).any():
            return False
        if np.abs(mine - theirs)[there].max() > ROUNDING:
            return False
        if not self.examples:
            return True
        # Two accuracies may be equal by chance: without the lists of errors nothing is the same.
        if not self.listed[there][:, [first, second]].all():
            return False
        return bool((self.wrong[there, first] == self.wrong[there, second]).all())


def scores_of(rows: Sequence[Row]) -> Scores:
    """The scores of these rows, in their order, in the metric that ranks them."""
    metric = rows[0].metric
    seeds = sorted({seed for row in rows for seed in row.values})
    values = np.array([[row.values.get(seed, np.nan) for seed in seeds] for row in rows])
    values = values.reshape(len(rows), len(seeds))
    fixed = np.array([row.deterministic for row in rows])
    for place in np.flatnonzero(fixed).tolist():
        values[place] = next(iter(rows[place].values.values()))
    examples = max((row.examples for row in rows), default=0)
    counts = (r.metrics.get("examples") for row in rows for r in row.trained.values())
    wrong = np.zeros((len(seeds), len(rows), examples), dtype=bool)
    listed = np.zeros((len(seeds), len(rows)), dtype=bool)
    for place, row in enumerate(rows if examples else ()):
        masks = row.wrong
        if fixed[place] and masks:
            masks = dict.fromkeys(seeds, next(iter(masks.values())))
        for number, seed in enumerate(seeds):
            if seed in masks:
                wrong[number, place], listed[number, place] = masks[seed], True
    return Scores(
        values=values,
        fixed=fixed,
        share=metric.lowest == 0.0 and metric.highest == 1.0,
        examples=examples,
        counted=next((int(count) for count in counts if count), 0),
        wrong=wrong,
        listed=listed,
        visible=0.0 if examples else 0.5 * 10.0**-metric.unit_digits / metric.scale,
    )


def row_intervals(scores: Scores) -> list[Interval | None]:
    """Of each row: its mean over seeds with an interval; none with fewer than three seeds.

    A fixed row has a mean and neither interval nor standard deviation; None for a row without
    values.
    """
    seeds = (~np.isnan(scores.values)).sum(axis=1)
    intervals: list[Interval | None] = [None] * len(seeds)
    for row in np.flatnonzero(seeds):
        values = scores.values[row][~np.isnan(scores.values[row])]
        spread = len(values) > 1 and not scores.fixed[row]
        intervals[row] = Interval(
            float(values.mean()), sd=float(values.std(ddof=1)) if spread else None
        )
    enough = np.flatnonzero((seeds >= ENOUGH) & ~scores.fixed)
    if not len(enough):
        return intervals
    expected = scores.expected[enough]
    family = moderate(scores.values[enough], expected, len(enough))
    for k, row in enumerate(enough):
        mean, count = float(family.mean[k]), int(family.seeds[k])
        t, sd = t_quantile(float(family.df[k])), math.sqrt(float(family.own[k]))
        if not scores.share:
            intervals[row] = Interval(mean, t * float(family.error[k]), sd)
            continue
        dispersion = float(family.variance[k] / expected[k])
        # Perfect with every seed, and so are all others: binomial, for want of anything else.
        dispersion = dispersion or 1 / (scores.counted or UNCOUNTED)
        low, high = wilson(mean, count / dispersion, t)
        intervals[row] = Interval(mean, max(mean - low, high - mean), sd, ends=(low, high))
    return intervals
