"""When to stop adding seeds: whether the difference between the leaders is settled.

An interim analysis after every round of seeds gives chance several opportunities. The level is
divided equally among the analyses (a spending function that is linear in their number; Lan and
DeMets 1983, Discrete Sequential Boundaries for Clinical Trials), so that the chance of any wrong
statement at any of them stays below 5% however they depend on each other. The verdicts of a report
of such a run have the same level (``paired.level_of``).

Of 16 equal cells whose scores vary by 0.5 points over seeds, 1 point is settled with 15 to 20 seeds
and never with 10 (``python -m bench.simulate``).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np

from zoo.report.rows import Row
from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.paired import judged, level_of, tested
from zoo.report.stats.scores import Scores, scores_of
from zoo.report.stats.verdicts import Verdicts

Standing = Literal["best", "worse", "as good", "open"]


def settled(rows: Sequence[Row], difference: float, verdicts: Verdicts) -> bool:
    """Whether the leaders are found: cells as good as the best one within ``difference``.

    All others are really worse than the best one, also by the verdicts that the report of these
    rows has.

    difference: in the unit that differences are printed in, such as points. False with fewer than
    two cells, and where a cell lost a seed or has fewer than three. Baselines and skipped cells do
    not count.
    """
    cells = [row for row in rows if not row.baseline and not row.only_skipped]
    if len(cells) < 2:
        return False
    if any(row.failed or len(row.values) < ENOUGH for row in cells):
        return False
    metric = cells[0].metric
    scores, gap = scores_of(cells), difference / metric.scale
    found = standings(scores, gap, verdicts.analyses, metric.direction)
    tied = verdicts.tied()
    behind = [row.name for row, stand in zip(cells, found, strict=True) if stand == "worse"]
    return "open" not in found and not any(name in tied for name in behind)


def standings(
    scores: Scores, difference: float, analyses: int, direction: int = 1
) -> list[Standing]:
    """How each row stands to the best one, at one of so many interim analyses.

    difference: in the metric's own unit. Half of the level is for ``worse`` as in a report: tested
    against the row with the best mean. Half is for what intervals of differences say (multiple
    comparisons with the best, Hsu 1981): whichever row is truly the best, its differences from the
    R - 1 others lie within one-sided bounds, and then a row is *worse* that is behind by more than
    ``difference`` and its bound, and *as good* if no row that may be the best can be ahead of it by
    ``difference``.
    """
    level = level_of(analyses) / 2
    first = scores.twins()
    places = np.flatnonzero(first == np.arange(len(first)))
    pairs = list(itertools.combinations(range(len(places)), 2))
    weights = np.zeros((len(pairs), len(first)))
    for number, pair in enumerate(pairs):
        weights[number, places[list(pair)]] = 1.0, -1.0
    ahead = np.zeros((len(places), len(places)))  # by how much a row is better than another
    bound, real = np.zeros_like(ahead), np.zeros_like(ahead, dtype=bool)
    known = True
    for (one, other), found in zip(
        pairs, judged(tested(scores, weights), level=level), strict=True
    ):
        ahead[one, other] = direction * found.mean
        ahead[other, one] = -ahead[one, other]
        bound[one, other] = bound[other, one] = found.reach(1 - 2 * level / (len(places) - 1))
        real[one, other] = real[other, one] = found.real
        known &= found.adjusted is not None
    best = int(np.argmax(direction * np.nanmean(scores.values[places], axis=1)))
    worse = real[best] | (known & (ahead[best] > difference + bound[best]))
    most = (ahead + bound)[~worse].max(axis=0)  # by which any row may be better
    stands: list[Standing] = [
        "worse" if behind else "as good" if known and reach < difference else "open"
        for behind, reach in zip(worse, most, strict=True)
    ]
    if stands[best] == "as good" or worse.sum() == len(places) - 1:
        stands[best] = "best"
    by_place = dict(zip(places.tolist(), stands, strict=True))
    return [
        "as good" if by_place[twin] == "best" and row != twin else by_place[twin]
        for row, twin in enumerate(first.tolist())
    ]
