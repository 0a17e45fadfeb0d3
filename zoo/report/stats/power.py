"""What a run with so many seeds could have seen."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.paired import ALONE, RESERVE, Difference

POWER = 0.8


def visible_difference(
    family: Sequence[Difference],
    level: float,
    alone: float,
    examples: int,
    seeds: int | None = None,
) -> float | None:
    """The true difference that would be found in 4 of 5 runs like this, in the metric's own units.

    family: tested differences, whose medians say how large the noise is. level: of the first step
    of the correction, at which one difference is tested; alone: of the uncorrected test of a
    difference by itself. examples: of one seed, 0 where the metric is no share of them. seeds: as
    many as the family has by default. Power is from the noncentral t distribution; of the tests
    that must agree, the one with the least power counts. None where none is found.
    """
    from scipy import optimize, special

    had = statistics.median(d.seeds for d in family)
    count = had if seeds is None else seeds
    if count < ENOUGH:
        return None
    error = statistics.median(d.error for d in family) * (had / count) ** 0.5
    disputed = statistics.median(d.disputed for d in family) * count / had
    df = statistics.median(d.df for d in family) * (count - 1) / (had - 1)
    if error == 0.0:
        return None
    if df > count - 1:
        level *= RESERVE
    bars = [(df, float(special.stdtrit(df, 1 - level / 2)))]
    if df > count - 1:  # the variance is shrunk, and each must be significant by itself
        bars.append((count - 1, float(special.stdtrit(count - 1, 1 - alone / ALONE / 2))))

    def lack(gap: float) -> float:
        """How far the power is above what is wanted."""
        found = min(1 - float(special.nctdtr(d, gap / error, bar)) for d, bar in bars)
        if examples:
            # Votes of all seeds; their total is off by as much as the mean is.
            scale = examples * count
            bar = 1 - float(special.ndtri(level / 2)) * max(disputed, scale * gap) ** 0.5
            found = min(found, float(special.ndtr((gap * scale - bar) / (error * scale))))
        return found - POWER

    most = error
    while lack(most) < 0:
        most *= 2
        if most > 1e6 * error:
            return None
    return float(optimize.brentq(lack, most / 2 if most > error else 0.0, most, rtol=1e-4))
