"""Whether a count of simulations agrees with the rate that is stated, by exact binomial bounds."""

from scipy.stats import binomtest

UNLIKELY = 0.001


def at_rate(count: int, total: int, rate: float) -> bool:
    """Neither more nor fewer than this rate gives."""
    return binomtest(count, total, rate).pvalue > UNLIKELY


def at_most(count: int, total: int, rate: float) -> bool:
    """No more than this rate gives."""
    return binomtest(count, total, rate, alternative="greater").pvalue > UNLIKELY


def at_least(count: int, total: int, rate: float) -> bool:
    """No fewer than this rate gives."""
    return binomtest(count, total, rate, alternative="less").pvalue > UNLIKELY
