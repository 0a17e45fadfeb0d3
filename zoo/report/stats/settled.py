"""When to stop adding seeds: whether the difference between the leaders is settled.

An interim analysis after every round of seeds gives chance several opportunities. The level is
divided equally among the analyses (a spending function that is linear in their number; Lan and
DeMets 1983, Discrete Sequential Boundaries for Clinical Trials), so that the chance of any wrong
statement at any of them stays below 5% however they depend on each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np

from zoo.report.rows import Row
from zoo.report.stats.intervals import ENOUGH
from zoo.report.stats.paired import ALPHA, judged, tested
from zoo.report.stats.scores import Scores, scores_of

Standing = Literal["best", "worse", "as good", "open"]


def analyses_up_to(seeds: int) -> int:
    """How often there is something to look at where seeds are added one by one, up to so many."""
    return max(seeds - ENOUGH + 1, 0)


def settled(rows: Sequence[Row], difference: float, analyses: int) -> bool:
    """Whether every cell is really worse than the best one, or as good within ``difference``.

    difference: in the unit that differences are printed in, such as points. analyses: how many
    there will be at most, ``analyses_up_to(seeds)`` of a sweep. False with fewer than two cells,
    and where a cell lost a seed or has fewer than three. Baselines and skipped cells do not count.
    """
    cells = [row for row in rows if not row.baseline and not row.only_skipped]
    if len(cells) < 2 or analyses < 1:
        return False
    if any(row.failed or len(row.values) < ENOUGH for row in cells):
        return False
    metric = cells[0].metric
    found = standings(scores_of(cells), difference / metric.scale, analyses, metric.direction)
    return "open" not in found


def standings(
    scores: Scores, difference: float, analyses: int, direction: int = 1
) -> list[Standing]:
    """How each row stands to the one with the best mean, at one of so many interim analyses.

    difference: in the metric's own unit. As good: the interval of its difference, one of all rows
    together, does not reach ``difference``. Half of the level is for ``worse`` (tested as in a
    report), half for ``as good``.
    """
    level = ALPHA / analyses / 2
    first = scores.twins()
    places = np.flatnonzero(first == np.arange(len(first)))
    best = int(places[np.argmax(direction * np.nanmean(scores.values[places], axis=1))])
    pairs = list(itertools.combinations(places.tolist(), 2))
    weights = np.zeros((len(pairs), len(first)))
    for number, (one, other) in enumerate(pairs):
        weights[number, [one, other]] = 1.0, -1.0
    stands: dict[int, Standing] = {best: "best"}
    for (one, other), found in zip(
        pairs, judged(tested(scores, weights), level=level), strict=True
    ):
        if best not in (one, other):
            continue
        reach = abs(found.mean) + found.reach(1 - level / (len(places) - 1))
        known = found.adjusted is not None
        stands[other if one == best else one] = (
            "worse" if found.real else "as good" if known and reach < difference else "open"
        )
    return [
        "as good" if stands[twin] == "best" and row != best else stands[twin]
        for row, twin in enumerate(first.tolist())
    ]
