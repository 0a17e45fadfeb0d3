"""95% intervals of rows' means over seeds, also where a share is close to 0 or 1.

A t-interval is symmetric, reaches beyond 1, and has no width where all seeds are perfect. A share
has a variance φ p (1 - p) instead, with a dispersion φ that is shrunk towards that of the other
rows (``moderated``). The interval holds every p with

    (p̂ - p)² ≤ t² φ p (1 - p) / S,

which is Wilson's (1927) with S / φ in place of the number of trials and a quantile of t in place of
the normal one (Kott and Carr 1997 use it for samples in clusters, of which seeds are a case).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from zoo.report.rows import Row
from zoo.report.stats.intervals import ENOUGH, Interval, t_quantile
from zoo.report.stats.moderated import moderate
from zoo.report.stats.scores import UNCOUNTED, Scores, scores_of


def intervals_of(rows: Iterable[Row]) -> dict[str, Interval | None]:
    """Row name to its mean with the interval, as the table of these rows has it."""
    known = [row for row in rows if row.values]
    if not known:
        return {}
    return dict(zip((row.name for row in known), row_intervals(scores_of(known)), strict=True))


def row_intervals(scores: Scores) -> list[Interval | None]:
    """Of each row: its mean over seeds with an interval; none with fewer than three seeds.

    A fixed row has a mean and neither interval nor standard deviation; None for a row without
    values.
    """
    seeds = (~np.isnan(scores.values)).sum(axis=1)
    found: list[Interval | None] = [None] * len(seeds)
    for row in np.flatnonzero(seeds):
        values = scores.values[row][~np.isnan(scores.values[row])]
        spread = len(values) > 1 and not scores.fixed[row]
        sd = float(values.std(ddof=1)) if spread else None
        found[row] = Interval(float(values.mean()), sd=sd)
    enough = np.flatnonzero((seeds >= ENOUGH) & ~scores.fixed)
    if not len(enough):
        return found
    expected = scores.expected[enough]
    family = moderate(scores.values[enough], expected, len(enough))
    for k, row in enumerate(enough):
        mean, count = float(family.mean[k]), int(family.seeds[k])
        t, sd = t_quantile(float(family.df[k])), math.sqrt(float(family.own[k]))
        if not scores.share:
            found[row] = Interval(mean, t * float(family.error[k]), sd)
            continue
        dispersion = float(family.variance[k] / expected[k])
        # Perfect with every seed, and so are all others: binomial, for want of anything else.
        dispersion = dispersion or 1 / (scores.counted or UNCOUNTED)
        low, high = _wilson(mean, count / dispersion, t)
        found[row] = Interval(mean, max(mean - low, high - mean), sd, ends=(low, high))
    return found


def _wilson(p: float, trials: float, t: float) -> tuple[float, float]:
    """Both ends of Wilson's interval of a share p of so many trials."""
    shrink = 1 + t**2 / trials
    centre = (p + t**2 / (2 * trials)) / shrink
    half = t * math.sqrt(max(p * (1 - p), 0.0) / trials + t**2 / (4 * trials**2)) / shrink
    return max(0.0, min(centre - half, p)), min(1.0, max(centre + half, p))
