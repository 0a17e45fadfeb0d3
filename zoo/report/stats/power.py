"""What a run with so many seeds could have seen."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from zoo.report.stats.intervals import ENOUGH, ROUNDING
from zoo.report.stats.moderated import Array
from zoo.report.stats.paired import ALONE, RESERVE, Difference

POWER = 0.8
VARIANCES = 200  # quantiles of a variance, over which the power is averaged


def visible_difference(
    family: Sequence[Difference],
    level: float,
    alone: float,
    examples: int,
    seeds: int | None = None,
    mean: float | None = None,
) -> float | None:
    """The true difference that would be found in 4 of 5 runs like this, in the metric's own units.

    family: tested differences, whose medians say how large the noise is. level: of the first step
    of the correction, at which one difference is tested; alone: of the uncorrected test of a
    difference by itself. examples: of one seed, 0 where the metric is no share of them. seeds: as
    many as the family has by default. mean: of rows, where the metric is a share: a row so far from
    it varies as much more as p (1 - p) is larger there. None where no difference is found.

    All tests must agree, so the largest of their bars counts. The shrunk variance holds a part of
    the difference's own, which varies with it: the power is averaged over quantiles of the latter.
    """
    from scipy import optimize, special

    had = statistics.median(d.seeds for d in family)
    count = had if seeds is None else seeds
    if count < ENOUGH:
        return None
    df = statistics.median(d.df for d in family)
    # The variance is skewed, so that its median is below its mean.
    error = statistics.median(d.error for d in family)
    error *= float(_shrunk(special.chdtri(had - 1, 0.5) / (had - 1), had, df) * count / had) ** -0.5
    disputed = statistics.median(d.disputed for d in family) * count / had
    if error == 0.0:
        return None
    df *= (count - 1) / (had - 1)
    own = special.chdtri(count - 1, (np.arange(VARIANCES) + 0.5) / VARIANCES) / (count - 1)
    shrunk = df > count - 1 + ROUNDING
    level *= RESERVE if shrunk else 1.0
    bars = special.stdtrit(df, 1 - level / 2) * np.sqrt(_shrunk(own, count, df))
    if shrunk:  # the difference must be significant by itself too
        by_itself = special.stdtrit(count - 1, 1 - alone / ALONE / 2) * np.sqrt(own)
        bars = np.maximum(bars, by_itself)

    def lack(gap: float) -> float:
        """How far the power is above what is wanted."""
        noise = error * _noisier(mean, gap)
        least = bars * noise
        if examples:
            # Votes of all seeds; their total is off by as much as the mean is.
            scale = examples * count
            votes = 1 - special.ndtri(level / 2) * max(disputed, scale * gap) ** 0.5
            least = np.maximum(least, votes / scale)
        return float(special.ndtr((gap - least) / noise).mean()) - POWER

    most = error
    while lack(most) < 0:
        most *= 2
        if most > 1e6 * error:
            return None
    return float(optimize.brentq(lack, most / 2 if most > error else 0.0, most, rtol=1e-4))


def _shrunk(own: Array, seeds: float, df: float) -> Array:
    """A variance with ``df`` degrees of freedom, of which its own has seeds - 1; 1 is expected."""
    return (df - (seeds - 1) + (seeds - 1) * own) / df


def _noisier(mean: float | None, gap: float) -> float:
    """How much more a difference varies where one of its two rows is ``gap`` from the mean."""
    if mean is None:
        return 1.0
    usual, *far = (max(p * (1 - p), ROUNDING) for p in (mean, mean - gap, mean + gap))
    return float(((1 + max(1.0, max(far) / usual)) / 2) ** 0.5)
