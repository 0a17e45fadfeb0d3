"""Confidence intervals of a metric over seeds, and of one model's accuracy on a test set.

The two answer different questions and are never added up:

- Training again with other seeds: a t-interval of the mean over seeds.
- Scoring another test set from the same source: a Wilson interval of one model's accuracy. The
  plain binomial standard error is 0 at an accuracy of 1 and too narrow near it, which is where
  good classifiers on small test sets are (Brown, Cai and DasGupta 2001, Interval Estimation for a
  Binomial Proportion, section 4.1.1).
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95
ENOUGH = 3  # seeds, or rounds: of two, a t-interval reaches over 12 standard errors to each side


@dataclass(frozen=True)
class Interval:
    """A mean, and half the width of its interval; None with too few values for one."""

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

    def text(self, form: str) -> str:
        """``0.943 ± 0.008``, each number formatted by ``form``."""
        mean = form.format(self.mean)
        return mean if self.half is None else f"{mean} ± {form.format(self.half)}"


@dataclass(frozen=True)
class OverSeeds:
    """The mean of a metric over seeds, its standard deviation, and the mean's 95% interval."""

    mean: float
    sd: float | None
    low: float | None
    high: float | None


def t_half(sd: float, count: int) -> float:
    """Half the 95% interval of a mean of ``count`` values with this standard deviation."""
    return t_quantile(count - 1) * sd / math.sqrt(count)


@functools.lru_cache(maxsize=1024)
def t_quantile(df: float) -> float:
    """How many standard errors a 95% interval reaches to each side."""
    from scipy import special

    return float(special.stdtrit(df, (1 + LEVEL) / 2))


def over_seeds(
    values: Sequence[float], lowest: float | None = None, highest: float | None = None
) -> OverSeeds | None:
    """Summary of one value per seed; None of no values, no interval of fewer than three.

    The interval is cut at ``lowest`` and ``highest``, beyond which no true value lies.
    """
    if not values:
        return None
    mean = statistics.fmean(values)
    sd = statistics.stdev(values) if len(values) > 1 else None
    if sd is None or len(values) < ENOUGH:
        return OverSeeds(mean, sd, None, None)
    half = t_half(sd, len(values))
    low = mean - half if lowest is None else max(lowest, mean - half)
    high = mean + half if highest is None else min(highest, mean + half)
    return OverSeeds(mean, sd, low, high)


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean of one or more values; with three or more, its t-interval, not cut."""
    mean = statistics.fmean(values)
    if len(values) < ENOUGH:
        return Interval(mean)
    return Interval(mean, t_half(statistics.stdev(values), len(values)))


def sampling_error(accuracy: float, examples: int) -> float | None:
    """Distance to the farther end of the 95% Wilson interval of one model's accuracy.

    For a mean over seeds it is an upper bound: an example that is hard for one seed need not be
    hard for another.
    """
    from scipy import special

    if examples <= 0 or not math.isfinite(accuracy):
        return None
    z = float(special.ndtri((1 + LEVEL) / 2))
    shrink = 1 + z**2 / examples
    centre = (accuracy + z**2 / (2 * examples)) / shrink
    half = z * math.sqrt(accuracy * (1 - accuracy) / examples + z**2 / (4 * examples**2)) / shrink
    return max(centre + half - accuracy, accuracy - (centre - half))
