"""Every verdict of a report, from one model, so that no two places of it disagree.

Every pair of rows, baselines included, and the main effect of every choice are one family. Holm's
correction over it keeps the chance that anything is wrongly called different below 5%. Main effects
are averages over many cells and answer what was asked, so half of the level is divided among them
at first; pairs share the other half, and what one test does not need passes on to the rest. Without
effects the pairs have all of it.

A difference that is both an effect and a pair has one verdict. Rows with the same results are one
row here: they are equal, and their differences from others count once.

The pairs of very many rows would be millions. Only the first MOST_RANKED rows by score are ranked.
These were picked by their scores, so we correct as if every pair of all rows had been tested.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy import sparse

from zoo.report.rows import Row
from zoo.report.stats.intervals import ALPHA, ENOUGH, ROUNDING, Interval
from zoo.report.stats.paired import Difference, judged, tested, visible_difference
from zoo.report.stats.scores import row_intervals, scores_of

Weights = Mapping[str, float]  # row name to its weight in a sum of rows
Key = tuple[tuple[int, float], ...]
EFFECTS = 0.5  # of the level, divided among the main effects at first
MOST_RANKED = 200  # rows


class Verdicts:
    """What is known of every difference between these rows.

    effects: the main effects, as weights of rows. enough: how many seeds a verdict needs. known:
    the rows that have a score. rows: those that are ranked. A row that lost a seed to a crash or a
    divergence is not: the seeds that remain are those that went well. Where no cell can be ranked,
    nothing is. limited: whether more rows could be ranked than are. pairs, main: the differences
    that were tested. tests: how many differences are corrected for.
    """

    def __init__(
        self, rows: Sequence[Row], effects: Sequence[Weights] = (), enough: int = ENOUGH
    ) -> None:
        self.enough = enough
        self.known = [row for row in rows if row.values]
        self.scores = replace(scores_of(self.known), enough=enough) if self.known else None
        self._place = {row.name: number for number, row in enumerate(self.known)}
        self._first: list[int] = self.scores.duplicates().tolist() if self.scores else []
        self.rows = self._rankable()
        # Deterministic baselines alone would rank above cells that have too few seeds.
        if all(row.baseline for row in self.rows) and not all(row.baseline for row in rows):
            self.rows = []
        possible = math.comb(len(self._distinct()), 2)
        self.limited = len(self.rows) > MOST_RANKED
        if self.limited:
            by_score = sorted(self.rows, key=lambda row: -row.metric.better(row.mean))
            first = {row.name for row in by_score[:MOST_RANKED]}
            self.rows = [row for row in self.rows if row.name in first]
        self._ranked = {row.name for row in self.rows}
        ranked = self._distinct()
        pairs = (((a, 1.0), (b, -1.0)) for a, b in itertools.combinations(ranked, 2))
        families = self._test(self._key(weights)[0] for weights in effects), self._test(pairs)
        self.main, self.pairs = (
            {key: difference for key, difference in family.items() if difference.p is not None}
            for family in families
        )
        level = 1 - EFFECTS if self.main else 1.0
        untested = possible - math.comb(len(ranked), 2)
        self._share: dict[Key, float] = {}
        self._divide(EFFECTS, self.main, len(self.main))
        each = self._divide(level, self.pairs, len(self.pairs) + untested)
        self._untested = each * untested
        self.tests = len(self._share) + untested
        # A pair that is an effect too is tested as a pair: there its family is larger.
        tests = families[0] | families[1]
        shares = [self._share.get(key, 0.0) for key in tests]
        differences = judged(list(tests.values()), shares, self._untested)
        self._difference = dict(zip(tests, differences, strict=True))

    def _rankable(self) -> list[Row]:
        fixed: list[bool] = self.scores.fixed.tolist() if self.scores else []
        return [
            row
            for row, same in zip(self.known, fixed, strict=True)
            if not row.failed and (same or len(row.values) >= self.enough)
        ]

    def _distinct(self) -> list[int]:
        """The places of the ranked rows; of equal rows only the first."""
        return sorted({self._first[self._place[row.name]] for row in self.rows})

    @cached_property
    def intervals(self) -> dict[str, Interval | None]:
        """Row name to its mean with the interval, of the rows that have a score."""
        intervals = row_intervals(self.scores) if self.scores else []
        return {
            row.name: known.within(row.metric.lowest, row.metric.highest) if known else None
            for row, known in zip(self.known, intervals, strict=True)
        }

    def _divide(self, level: float, among: Iterable[Key], count: int) -> float:
        """Divide a part of the level among so many differences, of which these are tested."""
        each = level / max(count, 1)
        for key in among:
            self._share[key] = self._share.get(key, 0.0) + each
        return each

    def _test(self, sums: Iterable[Key]) -> dict[Key, Difference]:
        keys = [key for key in dict.fromkeys(sums) if key]
        if not keys or self.scores is None:
            return {}
        places, weights = zip(*itertools.chain(*keys), strict=True)
        ends = np.cumsum([0, *map(len, keys)])
        shape = len(keys), len(self.known)
        family = sparse.csr_array((weights, places, ends), shape=shape)
        return dict(zip(keys, tested(self.scores, family), strict=True))

    def _key(self, weights: Weights) -> tuple[Key, int]:
        """What identifies a sum of rows, up to its sign, and the sign; equal rows count as one."""
        merged: dict[int, float] = {}
        for name, weight in weights.items():
            if name in self._place:
                first = self._first[self._place[name]]
                merged[first] = merged.get(first, 0.0) + weight
        key = sorted((place, round(w, 9)) for place, w in merged.items() if abs(w) > ROUNDING)
        sign = -1 if key and key[0][1] < 0 else 1
        return tuple((place, sign * weight) for place, weight in key), sign

    def difference(self, weights: Weights) -> Difference | None:
        """A sum of rows in the family of this report; None where a row has no value.

        One that is not in the family is tested at the level of a single one. A pair with a row that
        is not among the first MOST_RANKED is None.
        """
        if self.scores is None or any(name not in self._place for name in weights):
            return None
        key, sign = self._key(weights)
        if not key:
            places = [self._place[name] for name in weights]
            seeds = int((~np.isnan(self.scores.values[places]).any(axis=0)).sum())
            return Difference(0.0, 0.0, seeds=seeds, p=1.0, adjusted=1.0, equal=True)
        if key not in self._difference:
            if self.limited and len(key) == 2:
                return None
            (self._difference[key],) = judged(list(self._test([key]).values()))
        difference = self._difference[key]
        if not difference.seeds:
            return None
        return difference if sign > 0 else replace(difference, mean=-difference.mean)

    def pair(self, name: str, other: str) -> Difference | None:
        """The first row minus the second."""
        return self.difference({name: 1.0, other: -1.0}) if name != other else None

    def verdict(self, name: str, other: str) -> int | None:
        """1 where the first is significantly better, -1 worse, 0 for a tie; None if unknown."""
        if name == other:
            return 0
        if not {name, other} <= self._ranked:
            return None
        difference = self.pair(name, other)
        if difference is None or difference.adjusted is None:
            return None
        if not difference.real:
            return 0
        return 1 if self.known[0].metric.better(difference.mean) > 0 else -1

    def best_of(self, rows: Sequence[Row]) -> Row | None:
        """The row with the best mean of those that are ranked; None where there is none."""
        of = [row for row in rows if row.name in self._ranked]
        return max(of, key=lambda row: row.metric.better(row.mean), default=None)

    @cached_property
    def _better(self) -> dict[str, list[Row]]:
        """Row to the rows that are significantly better."""
        return {
            row.name: [rival for rival in self.rows if self.verdict(row.name, rival.name) == -1]
            for row in self.rows
        }

    def tied(self) -> list[str]:
        """The best cell, first, and the cells that cannot be distinguished from it.

        Without those that are significantly worse than another cell, as where the best one varies
        more from seed to seed.
        """
        cells = [row for row in self.rows if not row.baseline]
        best = self.best_of(cells)
        if best is None:
            return []
        others = [
            row.name
            for row in cells
            if row is not best
            and self.verdict(row.name, best.name) == 0
            and all(other.baseline for other in self._better[row.name])
        ]
        return [best.name, *others]

    def equal_rows(self) -> list[list[Row]]:
        """Groups of at least two rows whose results are the same with every seed."""
        groups: dict[int, list[Row]] = {}
        for row, first in zip(self.known, self._first, strict=True):
            groups.setdefault(first, []).append(row)
        return [group for group in groups.values() if len(group) > 1]

    def ranks(self) -> dict[str, int]:
        """Row to rank: 1 + the rows that are significantly better.

        That is the lower end of the confidence set of its true rank (Mogstad, Romano, Shaikh and
        Wilhelm 2024, Inference for Ranks, section 3): the best place that the tests do not rule
        out. So it need not follow the means: of a noisy row with a worse mean less is ruled out.
        Empty where there is no pair that could be compared, and without a row that could not be
        compared with the best.
        """
        best = self.best_of(self.rows)
        if best is None or len(self.rows) < 2:
            return {}
        ranks = {
            row.name: 1 + len(self._better[row.name])
            for row in self.rows
            if self.verdict(row.name, best.name) is not None
        }
        return ranks if len(ranks) > 1 else {}

    def visible(self, kind: str = "pair") -> float | None:
        """The difference that 4 of 5 such runs would have shown, between two rows or of an effect.

        kind: pair or effect. It holds for any two rows: a pair that is a main effect too has more
        of the level, and shows somewhat less. None where nothing was tested, or where no difference
        would have shown.
        """
        family = self.main if kind == "effect" else self.pairs
        cells = {n for n, row in enumerate(self.known) if not row.baseline}
        noisy = {key: d for key, d in family.items() if d.error}
        of = [d for key, d in noisy.items() if {place for place, _ in key} <= cells]
        of = of or list(noisy.values())
        if not of:
            return None
        share = min(self._share[key] for key in family)
        whole = sum(self._share.values()) + self._untested
        scores, level = self.scores, ALPHA * share / whole
        assert scores is not None
        mean = scores.typical(sorted(cells) or None)
        gap = visible_difference(of, level, scores.examples, mean)
        metric = self.known[0].metric
        if gap is None or metric.lowest is None or metric.highest is None:
            return gap
        return gap if gap <= metric.highest - metric.lowest else None
