"""What a handful of seeds, and a test set of a few hundred documents, say about an accuracy.

Two errors, told apart because more of one does nothing for the other:

- training again with other seeds: a t-interval of the mean over seeds;
- scoring other documents of the same kind: a Wilson interval of one model's accuracy. Wilson's
  and not the plain binomial standard error, because that one is zero at an accuracy of 1 and too
  narrow near it, which is where good classifiers on small test sets stand (Brown, Cai and
  DasGupta 2001, Interval Estimation for a Binomial Proportion, section 4.1.1).
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95
ENOUGH = 3  # seeds, or rounds: with two, a t-interval is over 12 standard errors wide each way


@dataclass(frozen=True)
class Interval:
    """A mean, and where there is enough to tell, its interval. half: half its width."""

    mean: float
    half: float | None = None

    @property
    def low(self) -> float | None:
        """The lower end."""
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        """The upper end."""
        return None if self.half is None else self.mean + self.half


@dataclass(frozen=True)
class OverSeeds:
    """The mean of a score over seeds; its standard deviation; the mean's 95% interval."""

    mean: float
    sd: float | None
    low: float | None
    high: float | None


def t_half(sd: float, count: int) -> float:
    """Half the 95% interval of a mean of ``count`` values with this standard deviation."""
    return t_quantile(count - 1) * sd / math.sqrt(count)


@functools.lru_cache(maxsize=1024)
def t_quantile(df: float) -> float:
    """How many standard errors a 95% interval reaches to either side."""
    from scipy import special

    return float(special.stdtrit(df, (1 + LEVEL) / 2))


def over_seeds(
    scores: Sequence[float], lowest: float = 0.0, highest: float = 1.0
) -> OverSeeds | None:
    """Summary of scores such as accuracies; None of none, no interval of fewer than three.

    The interval is cut at the ends that no true score lies beyond: 0 and 1 of a share.
    """
    if not scores:
        return None
    mean = statistics.fmean(scores)
    sd = statistics.stdev(scores) if len(scores) > 1 else None
    if sd is None or len(scores) < ENOUGH:
        return OverSeeds(mean, sd, None, None)
    half = t_half(sd, len(scores))
    return OverSeeds(mean, sd, max(lowest, mean - half), min(highest, mean + half))


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean of one or more values; its t-interval, uncut, of three or more."""
    mean = statistics.fmean(values)
    if len(values) < ENOUGH:
        return Interval(mean)
    return Interval(mean, t_half(statistics.stdev(values), len(values)))


def sampling_error(accuracy: float, documents: int) -> float | None:
    """How far the 95% Wilson interval of one model's accuracy on this many documents reaches.

    To its farther end: near 0 and 1 the interval leans towards the middle. For a mean over seeds
    it is an upper bound: what is hard for one seed is not for all.
    """
    from statsmodels.stats.proportion import proportion_confint

    if documents <= 0 or not math.isfinite(accuracy):
        return None
    low, high = proportion_confint(accuracy * documents, documents, 1 - LEVEL, method="wilson")
    return float(max(high - accuracy, accuracy - low))
