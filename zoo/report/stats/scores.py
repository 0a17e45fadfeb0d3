"""The scores of a report's rows as arrays, and the intervals of their means over seeds.

A t-interval is symmetric, reaches beyond 1, and has no width where all seeds are perfect. A share
has a variance φ p (1 - p) instead, with a dispersion φ that is shrunk towards that of the other
rows (``intervals.moderate``). The interval holds every p with (p̂ - p)² ≤ t² φ p (1 - p) / S, which
is Wilson's (1927) with S / φ in place of the number of trials and a quantile of t in place of the
normal one (Kott and Carr 1997 use it for samples in clusters, such as seeds).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from zoo.report.rows import ReportRow
from zoo.report.stats.intervals import ALPHA, ENOUGH, ROUNDING, Array, Interval, moderate, wilson

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

    def duplicates(self) -> list[int]:
        """For each row, the first one with the same results, itself where there is none.

        The same: the same seeds and values and, where known, the same wrong examples. Two
        accuracies may be equal by chance: without the lists of errors nothing is the same.
        """
        first: list[int] = []
        seen: dict[bytes, int] = {}
        for row, values in enumerate(self.values):
            there = ~np.isnan(values)
            known = there.sum() > 1 and (not self.examples or self.listed[there, row].all())
            results = values.tobytes() + self.wrong[:, row].tobytes()
            first.append(seen.setdefault(results, row) if known else row)
        return first


def scores_of(rows: Sequence[ReportRow]) -> Scores:
    """The scores of these rows, each with a value, in the metric that ranks them."""
    metric = rows[0].metric
    seeds = sorted({seed for row in rows for seed in row.values})
    examples = max(row.examples for row in rows)
    counts = (r.metrics.get("examples") for row in rows for r in row.trained.values())
    values = np.full((len(rows), len(seeds)), np.nan)
    wrong = np.zeros((len(seeds), len(rows), examples), dtype=bool)
    listed = np.zeros((len(seeds), len(rows)), dtype=bool)
    for (place, row), (number, seed) in itertools.product(enumerate(rows), enumerate(seeds)):
        values[place, number] = row.values.get(seed, np.nan)
        if seed in row.wrong:
            wrong[number, place, row.wrong[seed]], listed[number, place] = True, True
    return Scores(
        values=values,
        fixed=np.array([row.deterministic for row in rows]),
        share=metric.lowest == 0.0 and metric.highest == 1.0,
        examples=examples,
        counted=next((int(count) for count in counts if count), 0),
        wrong=wrong,
        listed=listed,
        visible=0.0 if examples else 0.5 * 10.0**-metric.unit_digits / metric.scale,
    )


def row_intervals(scores: Scores) -> list[Interval]:
    """Of each row: its mean over seeds with an interval; none with fewer than three seeds.

    A fixed row has a mean and no interval.
    """
    seeds = (~np.isnan(scores.values)).sum(axis=1)
    intervals = [Interval(float(mean)) for mean in np.nanmean(scores.values, axis=1)]
    enough = np.flatnonzero((seeds >= ENOUGH) & ~scores.fixed)
    if not len(enough):
        return intervals
    expected = scores.expected[enough]
    family = moderate(scores.values[enough], expected, len(enough))
    for k, row in enumerate(enough):
        mean, t = float(family.mean[k]), float(special.stdtrit(family.df[k], 1 - ALPHA / 2))
        if not scores.share:
            intervals[row] = Interval.symmetric(mean, t * float(family.error[k]))
            continue
        # Perfect with every seed, and so are all others: binomial, for want of anything else.
        dispersion = family.variance[k] / expected[k] or 1 / (scores.counted or UNCOUNTED)
        intervals[row] = wilson(mean, float(family.seeds[k] / dispersion), t)
    return intervals
