"""Confidence intervals of a metric over seeds, and of one model's accuracy on a test set.

The two answer different questions and are never added up:

- Training again with other seeds: a t-interval of the mean over seeds, of a share in Wilson's form
  (``row_intervals``).
- Scoring another test set from the same source: a Wilson interval of one model's accuracy. The
  plain binomial standard error is 0 at an accuracy of 1 and too narrow near it, which is where
  good classifiers on small test sets are (Brown, Cai and DasGupta 2001, Interval Estimation for a
  Binomial Proportion, section 4.1.1).
"""

from __future__ import annotations

import functools
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

LEVEL = 0.95
ROUNDING = 1e-12  # what rounding may leave of a difference that is 0
ENOUGH = 3  # seeds, or rounds: of two, a t-interval reaches over 12 standard errors to each side


@dataclass(frozen=True)
class Interval:
    """A mean, half the width of its 95% interval, and the standard deviation of the values.

    None where there are too few values. ends: low and high, where they are not equally far from the
    mean; half is then the larger distance.
    """

    mean: float
    half: float | None = None
    sd: float | None = None
    ends: tuple[float, float] | None = field(default=None, kw_only=True)

    @property
    def low(self) -> float | None:
        """The lower end."""
        if self.ends:
            return self.ends[0]
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        """The upper end."""
        if self.ends:
            return self.ends[1]
        return None if self.half is None else self.mean + self.half

    def text(self, form: str) -> str:
        """``0.943 ± 0.008``, each number formatted by ``form``.

        ``0.999 (0.991 to 1.000)`` where one side is much longer than the other.
        """
        mean = form.format(self.mean)
        if self.half is None:
            return mean
        if self.ends:
            sides = [form.format(abs(end - self.mean)) for end in self.ends]
            one, other = (int(re.sub(r"\D", "", side)) for side in sides)
            if abs(one - other) > max(1, max(one, other) / 3):
                return f"{mean} ({' to '.join(map(form.format, self.ends))})"
        return f"{mean} ± {form.format(self.half)}"


def t_half(sd: float, count: int) -> float:
    """Half the 95% interval of a mean of ``count`` values with this standard deviation."""
    return t_quantile(count - 1) * sd / math.sqrt(count)


@functools.lru_cache(maxsize=1024)
def t_quantile(df: float) -> float:
    """How many standard errors a 95% interval reaches to each side."""
    from scipy import special

    return float(special.stdtrit(df, (1 + LEVEL) / 2))


def t_test(mean: float, error: float, df: float) -> float:
    """Two-sided p-value that a mean with this standard error is 0."""
    from scipy import special

    if abs(mean) < ROUNDING:
        return 1.0
    return 0.0 if error < ROUNDING else float(2 * special.stdtr(df, -abs(mean) / error))


def over_seeds(values: Sequence[float]) -> Interval | None:
    """The mean of one value per seed; None of no values, no interval of fewer than three."""
    if not values:
        return None
    mean, count = statistics.fmean(values), len(values)
    sd = statistics.stdev(values) if count > 1 else None
    return Interval(mean, None if sd is None or count < ENOUGH else t_half(sd, count), sd)


def sampling_error(accuracy: float, examples: float) -> float | None:
    """Distance to the farther end of the 95% Wilson interval of one model's accuracy.

    examples: independent ones; where they are not, as many as tell as much (Kott and Carr 1997).
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
