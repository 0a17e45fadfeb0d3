"""The verdicts of a run on a streamed diagnostic: every pair of rows by the exchange test."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy import stats

from zoo.report.rows import ReportRow
from zoo.report.stats.intervals import ALPHA
from zoo.report.stats.learning import Exchange, compared, exchanged
from zoo.report.stats.verdicts import Verdicts

MOST_RANKED = 60  # rows; of more, no pairs are tested


class ExchangeVerdicts(Verdicts):
    """What is known of every pair of rows: which of them learns faster over the rates.

    The pairs of a run are an exploratory family: of those that are told apart, one in twenty is
    wrong in the mean (Benjamini and Hochberg 1995, Controlling the False Discovery Rate). A claim
    that was made before is tested by itself. Six seeds that differ at one rate alone give p = .03
    at least, which no correction for any one error among a hundred pairs would leave. Rows all of
    whose runs end alike, as of two that never solve, are equal, whatever is exchanged: they are not
    in the family (Tarone 1990, A Modified Bonferroni Method for Discrete Data).
    """

    def __init__(self, rows: Sequence[ReportRow]) -> None:
        super().__init__([])
        self._learning = {row.name: row.learning for row in rows if row.learning}
        ranked = [row for row in rows if row.learning]
        self.limited = len(ranked) > MOST_RANKED
        self.rows = [] if self.limited else ranked
        pairs = [
            (a.name, b.name)
            for a, b in itertools.combinations(self.rows, 2)
            if not self._alike(a.name, b.name)
        ]
        self.tests = len(pairs)
        tested = {
            (a, b): known
            for a, b in pairs
            if (known := compared(self._learning[a], self._learning[b]))
        }
        adjusted = stats.false_discovery_control([p for _, p in tested.values()])
        self._sign = {
            pair: int(np.sign(-ratio)) if p <= ALPHA else 0
            for (pair, (ratio, _)), p in zip(tested.items(), adjusted, strict=True)
        }

    def _alike(self, name: str, other: str) -> bool:
        a, b = self._learning[name].examples, self._learning[other].examples
        return np.array_equal(a, b, equal_nan=True)

    def verdict(self, name: str, other: str) -> int | None:
        """1 where the first learns significantly faster, -1 slower, 0 for a tie; None: unknown."""
        if not {name, other} <= {row.name for row in self.rows}:
            return None
        return self._sign.get((name, other), -self._sign.get((other, name), 0))

    def exchange(self, name: str, other: str) -> Exchange:
        """How many times the examples of the second the first needs."""
        return exchanged(self._learning[name], self._learning[other])

    def best_of(self, rows: Sequence[ReportRow]) -> ReportRow | None:
        """The row that solves in the fewest examples; None where there is none."""
        known = [row for row in rows if row.learning]
        return min(known, key=lambda row: self._learning[row.name].order, default=None)
