"""Tests of differences between rows: over seeds, and over the examples on which they disagree.

What is claimed of two rows called different: *trained again with new seeds and scored on this test
set, they would differ again*. Another test set is the sampling error, which the table states.

Seed s gives every cell the same split, the same order of examples and, for exact variants, the
same weights. So the difference within a seed is compared, and its variance over seeds is shrunk
towards that of the other differences of its family (``intervals.moderate``). A row that training
again would not change, such as a deterministic baseline, has no seeds to pair: the variance of the
other row by itself counts there. Two such rows differ as they do.

Besides that t-test, two more must be significant where they apply; the largest p-value counts:

- Three seeds that each differ by one example have no spread at all, and a t-test would call that
  certain. So where the metric is a share of examples, the examples on which two rows disagree must
  also fall to one side more often than chance allows (McNemar 1947, with Edwards's correction).
- Where the variance was shrunk, a paired t-test with nothing shrunk must be significant at half the
  level, uncorrected: a row noisier than all others is not called different on their account.

P-values are corrected by Holm's method (1979) for everything that is tested with them. A difference
whose variance was shrunk is tested at four fifths of its share of the level: with a few noisier
rows among many, shrinking finds somewhat more than stated (``python -m bench.simulate``).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, special

from zoo.report.stats.intervals import ALPHA, ENOUGH, ROUNDING, Array, Interval, moderate, t_tests
from zoo.report.stats.scores import Scores

ALONE = 2.0  # by itself a difference must be significant at this fraction (1/2) of the level
RESERVE = 0.8  # of its share of the level, for a difference whose variance was shrunk
POWER = 0.8  # of a difference that a run is said to have been able to see
VARIANCES = 200  # quantiles of a variance, over which the power is averaged
BLOCK = 256  # examples whose votes are in memory at once
# Of a larger family so many sums tell the rank: more independent ones than 1 + MOST_PRIOR change
# no degrees of freedom.
SAMPLE = 64
Sums: TypeAlias = sparse.csr_array  # (K, R), weights of rows: a pair is two places with 1 and -1


@dataclass(frozen=True)
class Difference(Interval):
    """A mean difference of a metric over seeds, in the metric's own direction.

    low, high: of its 95% t-interval, not corrected; p: two-sided, of the shrunk variance (over
    RESERVE) and of the examples; alone: of the paired t-test by itself. adjusted: corrected for
    everything that was tested with it. None with fewer than three seeds. error, df: of the mean.
    disputed: on how many examples the rows disagree, over all seeds. equal: of rows with the same
    results.
    """

    seeds: int = 0
    p: float | None = None
    adjusted: float | None = None
    alone: float = 0.0
    error: float = 0.0
    df: float = 0.0
    disputed: float = 0.0
    equal: bool = False

    @property
    def real(self) -> bool:
        """Whether it is significantly different from 0 after correction."""
        return self.adjusted is not None and self.adjusted < ALPHA

    def turned(self) -> Difference:
        """The other row minus this one."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, mean=-self.mean, low=low, high=high)

    def guarded(self, adjusted: float) -> float:
        """A corrected p-value, or that of the test by itself where it is larger."""
        shrunk = self.df > self.seeds - 1 + ROUNDING
        return max(adjusted, min(1.0, ALONE * self.alone)) if shrunk else adjusted


def pairs_of(places: NDArray[np.int_], rows: int) -> Sums:
    """The first row of each pair minus the second; places (K, 2), of so many rows."""
    signs = np.tile([1.0, -1.0], len(places))
    ends = np.arange(0, 2 * len(places) + 1, 2)
    return sparse.csr_array((signs, places.ravel(), ends), shape=(len(places), rows))


def tested(scores: Scores, weights: Sums) -> list[Difference]:
    """One family of weighted sums of rows, each tested by itself.

    Variances are shrunk towards each other within the family. ``seeds`` is 0 where no seed has all
    the rows of a sum.
    """
    used: Sums = abs(weights).sign()
    values = np.nan_to_num(scores.values)
    lacking = used @ np.isnan(scores.values).astype(float)
    sums = np.where(lacking == 0, weights @ values, np.nan)  # (K, S)
    count = (~np.isnan(sums)).sum(axis=1)
    trained = weights.multiply(~scores.fixed).tocsr()
    balance = np.abs(trained.sum(axis=1)) < ROUNDING
    certain = used @ (~scores.fixed).astype(float) == 0
    means = np.nansum(sums, axis=1) / np.maximum(count, 1)
    errors, dfs, alone = (np.zeros(len(means)) for _ in range(3))
    # With a fixed row on one side, what a seed does to all rows does not cancel: a family apart.
    for family in (balance & ~certain, ~balance & ~certain):
        chosen = np.flatnonzero(family & (count >= ENOUGH))
        if len(chosen):
            expected = trained[chosen].power(2) @ scores.expected
            rank = int(np.linalg.matrix_rank(trained[chosen[:SAMPLE]].toarray()))
            shrunk = moderate(sums[chosen], expected, rank)
            errors[chosen], dfs[chosen] = shrunk.error, shrunk.df
            own = np.sqrt(shrunk.own / shrunk.seeds)
            alone[chosen] = t_tests(means[chosen], own, np.asarray(shrunk.seeds - 1.0))
    p = np.where(certain, 0.0, t_tests(means, errors, np.maximum(dfs, 1)))
    disputed = np.zeros(len(means))
    if scores.examples:
        by_votes, disputed = _disputes(scores, weights, sums, certain)
        p = np.maximum(p, by_votes)
    else:
        # One function computed in two ways may differ in the seventh digit and to the same side
        # with every seed: significant, and of no use to anybody.
        p = np.where(np.abs(means) < scores.visible, 1.0, p)
    p = np.where(dfs > count - 1 + ROUNDING, np.minimum(1.0, p / RESERVE), p)
    halves = np.where(certain, 0.0, special.stdtrit(np.maximum(dfs, 1), 1 - ALPHA / 2) * errors)
    parts = {"mean": means, "low": means - halves, "high": means + halves, "seeds": count, "p": p}
    parts |= {"alone": alone, "error": errors, "df": dfs, "disputed": disputed}
    frame = pd.DataFrame(parts).astype(object)
    frame.loc[count < np.where(certain, 1, scores.enough), ["low", "high", "p"]] = None
    return [Difference(**{str(k): v for k, v in row.items()}) for row in frame.to_dict("records")]


def judged(
    differences: Sequence[Difference], shares: Sequence[float] | None = None
) -> list[Difference]:
    """The same with ``adjusted``: corrected for all that were tested.

    shares: how the level is divided among them at first; by default equally.
    """
    adjusted = holm([d.p for d in differences], shares)
    return [
        d if p is None else replace(d, adjusted=d.guarded(p))
        for d, p in zip(differences, adjusted, strict=True)
    ]


def holm(
    p_values: Sequence[float | None], shares: Sequence[float] | None = None
) -> list[float | None]:
    """P-values adjusted for the number of tests (Holm 1979); None where nothing was tested.

    shares: how the level is divided among the tests at first; by default equally.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    share = shares or [1.0] * len(p_values)
    order = sorted((p / share[i], i) for i, p in enumerate(p_values) if p is not None)
    largest, left = 0.0, math.fsum(share[i] for _, i in order)
    for ratio, i in order:
        largest = max(largest, min(1.0, ratio * left))
        adjusted[i] = largest
        left -= share[i]
    return adjusted


def _disputes(
    scores: Scores, weights: Sums, sums: Array, certain: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """P-values that the votes of examples differ by chance, and the sums of their squares.

    Each example of each seed votes with the weights of the rows that are right. In a sum over rows
    that are all the same model, an example counts once and not once per row. Where only counts are
    known, the fewest disputes are assumed, all won by the better side. Rows that are the same with
    every seed vote once. If each vote had an even chance of either sign, the variance of their
    total would be the sum of their squares.
    """
    there = ~np.isnan(sums)
    there[certain] &= np.cumsum(there[certain], axis=1) == 1
    gaps = np.where(there, scores.examples * np.nan_to_num(sums), 0.0)
    squares = np.abs(gaps)
    known = there & (abs(weights) @ (~scores.listed).T.astype(float) == 0)
    for seed in np.flatnonzero(known.any(axis=0)):
        square = np.zeros(len(gaps))
        for start in range(0, scores.examples, BLOCK):
            votes = weights @ scores.wrong[seed, :, start : start + BLOCK].astype(float)
            square += np.einsum("kn,kn->k", votes, votes)
        squares[:, seed] = np.where(known[:, seed], square, squares[:, seed])
    disputed = squares.sum(axis=1)
    excess = np.abs(gaps.sum(axis=1)) - abs(weights).sum(axis=1) / 2  # less the largest vote
    p = 2 * special.ndtr(-excess / np.sqrt(np.maximum(disputed, ROUNDING)))
    return np.where(excess <= ROUNDING, 1.0, p), disputed


def visible_difference(
    family: Sequence[Difference], level: float, examples: int, mean: float | None = None
) -> float | None:
    """The true difference that would be found in 4 of 5 runs like this, in the metric's own units.

    family: tested differences with an error, whose medians say how large the noise is. level: of
    the first step of the correction, at which one difference is tested. examples: of one seed, 0
    where the metric is no share of them. mean: of rows, where the metric is a share: a row so far
    from it varies as much more as p (1 - p) is larger there. None where no difference is found.

    All tests must agree, so the largest of their bars counts. The shrunk variance holds a part of
    the difference's own, which varies with it: the power is averaged over quantiles of the latter.
    """
    seeds, df, error, disputed = (
        statistics.median(getattr(d, name) for d in family)
        for name in ("seeds", "df", "error", "disputed")
    )
    own = seeds - 1
    quantiles = special.chdtri(own, (np.arange(VARIANCES) + 0.5) / VARIANCES) / own
    shrunk = np.sqrt((df - own + own * quantiles) / df)  # errors; 1 is expected
    # The variance is skewed, so that its median is below its mean.
    error /= float(np.median(shrunk))
    borrowed = df > own + ROUNDING
    level *= RESERVE if borrowed else 1.0
    bars = special.stdtrit(df, 1 - level / 2) * shrunk
    if borrowed:  # the difference must be significant by itself too
        by_itself = special.stdtrit(own, 1 - ALPHA / ALONE / 2) * np.sqrt(quantiles)
        bars = np.maximum(bars, by_itself)

    def power(gap: float) -> float:
        noise = error
        if mean is not None:  # one of the two rows is this far from the others
            usual, *far = (max(p * (1 - p), ROUNDING) for p in (mean, mean - gap, mean + gap))
            noise *= ((1 + max(1.0, max(far) / usual)) / 2) ** 0.5
        least = bars * noise
        if examples:
            # Votes of all seeds; their total is off by as much as the mean is.
            scale = examples * seeds
            votes = 1 - special.ndtri(level / 2) * max(disputed, scale * gap) ** 0.5
            least = np.maximum(least, votes / scale)
        return float(special.ndtr((gap - least) / noise).mean())

    gaps = (float(gap) for gap in error * np.geomspace(0.1, 1e4, 1200))
    return next((gap for gap in gaps if power(gap) >= POWER), None)
