"""Variances over seeds of several quantities at once, shrunk towards each other.

With five seeds one quantity's own variance has four degrees of freedom, so that a single t-test
needs very large differences. The quantities of one family are much alike, and their variances tell
more together. As in limma (Smyth 2004, Linear Models and Empirical Bayes Methods, section 6), each
variance is taken to come from a scaled inverse chi-squared distribution with d₀ degrees of freedom
and location s₀², both found by moments of the log variances, and is replaced by

    s̃² = (d₀ s₀² + d s²) / (d₀ + d), with d₀ + d degrees of freedom.

Variances that differ by no more than chance give a large d₀; where many rows are noisier, d₀ is
small and each keeps more of its own. One or two noisier rows among many change d₀ little, though,
and would be called different too often. So d₀ is at most three times d: a row's own variance keeps
at least a quarter of the weight (``python -m bench.simulate`` shows what that costs and prevents).

The variance of a share goes to 0 at its bounds. So what is shrunk is the dispersion s² / V, where
V is the variance that a quantity would have up to a constant: p (1 - p) for a share p (Lund et al.
2012, Detecting Differential Expression in RNA-sequence Data Using Quasi-likelihood with Shrunken
Dispersion Estimates), 1 for a metric without bounds.

Quantities of one family are correlated: two pairs may share a row, and all rows share a seed. The
variance of K correlated quantities has as many degrees of freedom as n independent ones,
n = (tr Γ)² / tr Γ², with Γ their covariance, estimated as Huynh and Feldt (1976) do. No quantity is
given more than n (S - 1) degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MOST_PRIOR = 3.0  # d₀ is at most this many times d


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
    seeds = there.sum(axis=1)
    mean = np.where(there, values, 0.0).sum(axis=1) / seeds
    residuals = np.where(there, values - mean[:, None], 0.0)
    df = seeds - 1.0
    own = (residuals**2).sum(axis=1) / df
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
    from scipy import optimize, special

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
