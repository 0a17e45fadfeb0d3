"""Figures published elsewhere beside ours, and which of their differences are real.

A figure of one run has no interval of its own, so what is asked is: trained again over several
seeds here, do the rows differ as the figures do? The differences that were published are what is
looked at, and no others, so p-values are corrected for their number (Holm 1979).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from bench.publish.suite_page import Beside
from zoo.errors import ZooError
from zoo.report.stats.intervals import Interval, mean_interval
from zoo.report.stats.paired import Difference, Term, corrected, difference
from zoo.report.tables.rows import Row


@dataclass(frozen=True)
class Figure:
    """One published figure and our row; ours: of the same metric; seconds: of our trainings."""

    published: Beside
    row: Row
    ours: Interval | None
    seconds: Interval | None


@dataclass(frozen=True)
class PublishedDifference:
    """Two figures whose values differ there: first minus second, there and here."""

    first: Figure
    second: Figure
    there: float
    here: Difference | None

    @property
    def verdict(self) -> str:
        """``real``, ``tie``, ``reversed`` (real, the other way round), or ``""`` for unknown."""
        if self.here is None or self.here.adjusted is None:
            return ""
        if not self.here.real:
            return "tie"
        return "real" if (self.here.mean > 0) == (self.there > 0) else "reversed"


def make_figures(rows: Sequence[Row], beside: Sequence[Beside]) -> list[Figure]:
    """Each figure with the row it belongs to; ZooError where that is none, or several."""
    figures = []
    for one in beside:
        fitting = [
            row
            for row in rows
            if not row.baseline and all(row.cell[axis] == c for axis, c in one.cell.items())
        ]
        if len(fitting) != 1:
            named = "+".join(one.cell.values())
            raise ZooError(
                f"[published] beside '{one.name}': {named} is "
                f"{'no row' if not fitting else 'not one row but several'} of the records"
            )
        (row,) = fitting
        figures.append(Figure(one, row, _mean(row, one.metric), _mean(row, "train_seconds")))
    return figures


def published_differences(figures: Sequence[Figure]) -> list[PublishedDifference]:
    """Every pair of figures of the score that rows are ranked by, the larger one first."""
    scored = [
        f
        for f in figures
        if f.published.value is not None and f.published.metric == f.row.score.name
    ]
    pairs = []
    for one, other in itertools.combinations(scored, 2):
        if _value(one) != _value(other) and one.row is not other.row:
            pairs.append((one, other) if _value(one) > _value(other) else (other, one))
    found = corrected([difference([Term(one.row, other.row)]) for one, other in pairs])
    return [
        PublishedDifference(one, other, _value(one) - _value(other), here)
        for (one, other), here in zip(pairs, found, strict=True)
    ]


def _mean(row: Row, metric: str) -> Interval | None:
    metrics = [record.metrics for record in row.trials.values()]
    values = [float(m[metric]) for m in metrics if m.get(metric) is not None]
    return mean_interval(values) if values else None


def _value(figure: Figure) -> float:
    assert figure.published.value is not None
    return figure.published.value
