"""Figures published elsewhere compared with ours, and which of their differences are real.

A figure of one run has no interval of its own. So the question is: trained again with several
seeds here, do the rows differ as the figures do? Only the published differences are tested, so
p-values are corrected for their number (Holm 1979).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from bench.publish.suite_page import PublishedFigure
from zoo.errors import ZooError
from zoo.report.rows import Row
from zoo.report.stats.intervals import Interval, mean_interval
from zoo.report.stats.paired import Difference, Term, corrected, difference


@dataclass(frozen=True)
class Figure:
    """A published figure and our row; ours: the same metric; seconds: of our training."""

    published: PublishedFigure
    row: Row
    ours: Interval | None
    seconds: Interval | None

    @property
    def cell(self) -> str:
        """The choices that identify the row."""
        return "+".join(self.published.cell.values())


@dataclass(frozen=True)
class PublishedDifference:
    """Two figures with different values: first minus second, as published and ours."""

    first: Figure
    second: Figure
    published: float
    ours: Difference | None

    @property
    def verdict(self) -> str:
        """``real``, ``tie``, ``reversed`` (real in the other direction), or "" if unknown."""
        if self.ours is None or self.ours.adjusted is None:
            return ""
        if not self.ours.real:
            return "tie"
        return "real" if (self.ours.mean > 0) == (self.published > 0) else "reversed"


def make_figures(rows: Sequence[Row], figures: Sequence[PublishedFigure]) -> list[Figure]:
    """Each figure with the row it belongs to; ZooError where that is none, or several."""
    found = []
    for one in figures:
        matching = [
            row
            for row in rows
            if not row.baseline and all(row.cell.get(axis) == c for axis, c in one.cell.items())
        ]
        if len(matching) != 1:
            raise ZooError(
                f"[published] figure '{one.name}': {'+'.join(one.cell.values())} is "
                f"{'no row' if not matching else 'not one row but several'} of the records"
            )
        (row,) = matching
        found.append(Figure(one, row, _mean(row, one.metric), _mean(row, "train_seconds")))
    return found


def published_differences(figures: Sequence[Figure]) -> list[PublishedDifference]:
    """Every pair of figures of the ranking metric that differ, the larger one first."""
    scored = [
        (figure.published.value, figure)
        for figure in figures
        if figure.published.value is not None and figure.published.metric == figure.row.metric.name
    ]
    pairs = []
    for one, other in itertools.combinations(scored, 2):
        if one[0] != other[0] and one[1].row is not other[1].row:
            pairs.append((one, other) if one[0] > other[0] else (other, one))
    found = corrected([difference([Term(one.row, other.row)]) for (_, one), (_, other) in pairs])
    return [
        PublishedDifference(one, other, value - other_value, ours)
        for ((value, one), (other_value, other)), ours in zip(pairs, found, strict=True)
    ]


def _mean(row: Row, metric: str) -> Interval | None:
    values = list(row.values_of(metric).values())
    return mean_interval(values) if values else None
