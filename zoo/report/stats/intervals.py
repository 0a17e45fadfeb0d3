"""Confidence intervals and p-values of a mean, with variances shrunk towards each other.

Two intervals answer different questions and are never added up:

- Training again with other seeds: a t-interval of the mean over seeds; for a share in Wilson's form
  (``scores.row_intervals``).
- Scoring another test set from the same source: a Wilson interval of one model's accuracy. The
  plain binomial standard error is 0 at an accuracy of 1 (Brown, Cai and DasGupta 2001, Interval
  Estimation for a Binomial Proportion, section 4.1.1).

Five seeds give a variance four degrees of freedom; similar quantities tell more of it together. As
in limma (Smyth 2004, Linear Models and Empirical Bayes Methods, section 6), each variance is taken
to come from a scaled inverse chi-squared distribution with d₀ degrees of freedom and location s₀²,
both found by moments of the log variances, and is replaced by

    s̃² = (d₀ s₀² + d s²) / (d₀ + d), with d₀ + d degrees of freedom.

d₀ is at most three times d, so that a noisy row keeps at least a quarter of its own variance
(``python -m bench.simulate`` shows what that costs and prevents). The variance of a share goes to
0 at its bounds. So the dispersion s² / V is shrunk, with V = p (1 - p) for a share p and 1 for a
metric without bounds (Lund et al. 2012, Detecting Differential Expression in RNA-sequence Data
Using Quasi-likelihood with Shrunken Dispersion Estimates).

Quantities of one family are correlated: two pairs may share a row, and all rows share a seed. The
variance of K correlated quantities has as many degrees of freedom as n independent ones,
n = (tr Γ)² / tr Γ², with Γ their covariance, estimated as Huynh and Feldt (1976) do. No quantity is
given more than n (S - 1) degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Array = NDArray[np.float64]
ALPHA = 1 - 0.95
Z = float(special.ndtri(1 - ALPHA / 2))  # the normal quantile of a 95% interval
ROUNDING = 1e-12  # what rounding may leave of a difference that is 0
ENOUGH = 3  # seeds, or rounds: of two, a t-interval reaches over 12 standard errors to each side
# Seeds of a task that is solved or not: with three, chance alone often divides two equal rows.
ENOUGH_SOLVED = 5
MOST_PRIOR = 3.0  # d₀ is at most this many times d


@dataclass(frozen=True)
class Interval:
    """A mean and both ends of its 95% interval; None where there are too few values."""

    mean: float
    low: float | None = None
    high: float | None = None

    @staticmethod
    def symmetric(mean: float, half: float) -> Interval:
        """An interval that reaches equally far to both sides."""
        return Interval(mean, mean - half, mean + half)

    @property
    def half(self) -> float | None:
        """Half the width, to the side where the interval is longer."""
        if self.low is None or self.high is None:
            return None
        return max(self.high - self.mean, self.mean - self.low)

    def text(self, digits: int) -> str:
        """``0.943 ± 0.008``, with so many decimals.

        ``0.999 (0.991 to 1.000)`` where one side is much longer than the other.
        """
        mean = f"{self.mean:.{digits}f}"
        if self.low is None or self.high is None:
            return mean
        below, above = (round(abs(x - self.mean) * 10**digits) for x in (self.low, self.high))
        if abs(below - above) > max(1, max(below, above) / 3):
            return f"{mean} ({self.low:.{digits}f} to {self.high:.{digits}f})"
        return f"{mean} ± {self.half:.{digits}f}"


def t_tests(means: Array, errors: Array, df: Array) -> Array:
    """Two-sided p-values that means with these standard errors are 0."""
    t = np.abs(means) / np.maximum(errors, 1e-300)
    p = np.where(errors < ROUNDING, 0.0, 2 * special.stdtr(df, -t))
    return np.asarray(np.where(np.abs(means) < ROUNDING, 1.0, p))


def wilson(p: float, trials: float, z: float = Z) -> Interval:
    """Wilson's interval of a share p of so many trials; z: a quantile, by default for 95%."""
    shrink = 1 + z**2 / trials
    centre = (p + z**2 / (2 * trials)) / shrink
    half = z * math.sqrt(max(p * (1 - p), 0.0) / trials + z**2 / (4 * trials**2)) / shrink
    return Interval(p, max(0.0, min(centre - half, p)), min(1.0, max(centre + half, p)))


def sampling_error(accuracy: float, examples: float) -> float | None:
    """Distance to the farther end of the 95% Wilson interval of one model's accuracy.

    examples: independent ones; where they are not, as many as tell as much (Kott and Carr 1997).
    For a mean over seeds it is an upper bound: an example that is hard for one seed need not be
    hard for another.
    """
    if examples <= 0 or not math.isfinite(accuracy):
        return None
    return wilson(accuracy, examples).half


@dataclass(frozen=True)
class Moderated:
    """Of K quantities: means over seeds, variances of one seed's value, degrees of freedom.

    own: the variances by themselves. seeds: how many each has. All are arrays of K.
    """

    mean: Array
    variance: Array
    df: Array
    own: Array
    seeds: NDArray[np.int_]

    @property
    def error(self) -> Array:
        """Standard errors of the means."""
        return np.sqrt(self.variance / self.seeds)


def moderate(values: Array, expected: Array, rank: int) -> Moderated:
    """Shrink the variances of quantities, values (K, S), NaN where one lacks a seed.

    Each has at least two seeds. expected: (K,), the variances V of one seed's value up to a common
    factor. rank: how many of the quantities are linearly independent.
    """
    there = ~np.isnan(values)
    seeds, mean, own = there.sum(axis=1), np.nanmean(values, axis=1), np.nanvar(values, 1, ddof=1)
    residuals, df = np.nan_to_num(values - mean[:, None]), seeds - 1.0
    dispersion = own / expected
    # A variance of exactly 0 has no logarithm; it says little of the others.
    varied = dispersion > 1e-9 * dispersion.max(initial=0.0)
    if not varied.any():
        return Moderated(mean, own, df, own, seeds)
    prior_df, prior = _prior(dispersion[varied], df[varied])
    prior_df = np.minimum(prior_df, MOST_PRIOR * df)
    shrunk = (prior_df * prior + df * dispersion) / (prior_df + df)
    most = df * _independent((residuals / np.sqrt(expected)[:, None])[:, there.all(axis=0)], rank)
    return Moderated(mean, shrunk * expected, np.minimum(prior_df + df, most), own, seeds)


def _prior(variances: Array, df: Array) -> tuple[float, float]:
    """d₀ and s₀² by moments of the log variances (Smyth 2004, section 6.2)."""
    if len(variances) < 2:
        return 0.0, 1.0
    logs = np.log(variances) - special.digamma(df / 2) + np.log(df / 2)
    spread = float(np.var(logs, ddof=1) - special.polygamma(1, df / 2).mean())
    if spread <= 1e-6:  # no more than chance: one variance for all
        return np.inf, float((df * variances).sum() / df.sum())
    # trigamma(d₀ / 2) = spread
    half = optimize.brentq(lambda x: float(special.polygamma(1, x)) - spread, 1e-4, 1e7)
    return 2 * half, float(np.exp(logs.mean() + special.digamma(half) - np.log(half)))


def _independent(residuals: Array, rank: int) -> float:
    """As many independent quantities tell as much of a variance, between 1 and ``rank``.

    With d = S - 1 and e = (tr G)² / tr G², G the sample covariance: ((d + 1) e - 2) / (d - e), of
    Huynh and Feldt (1976, equation 10, for one group).
    """
    d = residuals.shape[1] - 1
    between = residuals.T @ residuals  # (S, S) has the eigenvalues of the (K, K) covariance
    square = float((between**2).sum())
    if d < 2 or square == 0.0:
        return 1.0
    e = float(np.trace(between)) ** 2 / square
    return float(rank) if e >= d else float(np.clip(((d + 1) * e - 2) / (d - e), 1.0, rank))
