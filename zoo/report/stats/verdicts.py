"""Every verdict of a report, from one model, so that no two places of it disagree.

Every pair of rows, baselines included, and the main effect of every choice are one family. Holm's
correction over it keeps the chance that anything is wrongly called different below 5%. Main effects
are averages over many cells and answer what was asked, so half of the level is divided among them
at first; pairs share the other half, and what one test does not need passes on to the rest. Without
effects the pairs have all of it.

A difference that is both an effect and a pair has one verdict. Rows with the same results are one
row here: they are equal, and their differences from others count once. The pairs of very many rows
would be millions, of which none could be told apart: then effects alone are tested.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy import sparse, stats

from zoo.report.rows import ReportRow
from zoo.report.stats.intervals import ALPHA, ENOUGH, ROUNDING, Interval
from zoo.report.stats.learning import compared
from zoo.report.stats.paired import Difference, judged, tested, visible_difference
from zoo.report.stats.scores import row_intervals, scores_of

Weights = Mapping[str, float]  # row name to its weight in a sum of rows
Key = tuple[tuple[int, float], ...]
EFFECTS = 0.5  # of the level, divided among the main effects at first
MOST_RANKED = 200  # rows; of more, no pairs are tested
MOST_EXCHANGED = 60  # rows of a streamed diagnostic, likewise
MORE_SEEDS = (5, 8, 12, 20, 30, 50)  # that a report may suggest


class Verdicts:
    """What is known of every difference between these rows.

    effects: the main effects, as weights of rows. enough: how many seeds a verdict needs. known:
    the rows that have a score. rows: those that are ranked. A row that lost a seed to a crash or a
    divergence is not: the seeds that remain are those that went well. Where no cell can be ranked,
    nothing is. limited: whether there are too many rows to rank them. pairs, main: the differences
    that were tested. tests: how many differences are corrected for.
    """

    def __init__(
        self, rows: Sequence[ReportRow], effects: Sequence[Weights] = (), enough: int = ENOUGH
    ) -> None:
        self.enough = enough
        self.known = [row for row in rows if row.values]
        self.scores = replace(scores_of(self.known), enough=enough) if self.known else None
        self._place = {row.name: number for number, row in enumerate(self.known)}
        self._first = self.scores.duplicates() if self.scores else []
        self.rows = [
            row
            for row in self.known
            if not row.failed and (row.deterministic or len(row.values) >= enough)
        ]
        self.limited = len(self.rows) > MOST_RANKED
        # Deterministic baselines alone would rank above cells that have too few seeds.
        alone = all(row.baseline for row in self.rows) and not all(row.baseline for row in rows)
        if alone or self.limited:
            self.rows = []
        self._ranked = {row.name for row in self.rows}
        distinct = sorted({self._first[self._place[name]] for name in self._ranked})
        pairs = (((a, 1.0), (b, -1.0)) for a, b in itertools.combinations(distinct, 2))
        families = self._test(self._key(weights)[0] for weights in effects), self._test(pairs)
        self.main, self.pairs = (
            {key: difference for key, difference in family.items() if difference.p is not None}
            for family in families
        )
        levels = (EFFECTS, 1 - EFFECTS) if self.main and self.pairs else (1.0, 1.0)
        self._share: dict[Key, float] = {}
        for level, family in zip(levels, (self.main, self.pairs), strict=True):
            for key in family:
                self._share[key] = self._share.get(key, 0.0) + level / len(family)
        self.tests = len(self._share)
        # A pair that is an effect too is tested as a pair: there its family is larger.
        tests = families[0] | families[1]
        differences = judged([*tests.values()], [self._share.get(key, 0.0) for key in tests])
        self._difference = dict(zip(tests, differences, strict=True))

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """Row name to its mean with the interval, of the rows that have a score."""
        intervals = row_intervals(self.scores) if self.scores else []
        return {row.name: known for row, known in zip(self.known, intervals, strict=True)}

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

        One that is not in the family is tested at the level of a single one.
        """
        if self.scores is None or any(name not in self._place for name in weights):
            return None
        key, sign = self._key(weights)
        if not key:
            places = [self._place[name] for name in weights]
            seeds = int((~np.isnan(self.scores.values[places]).any(axis=0)).sum())
            return Difference(0.0, 0.0, 0.0, seeds=seeds, p=1.0, adjusted=1.0, equal=True)
        if key not in self._difference:
            (self._difference[key],) = judged(list(self._test([key]).values()))
        difference = self._difference[key]
        if not difference.seeds:
            return None
        return difference if sign > 0 else difference.turned()

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
        better = 1 if self.known[0].metric.better(difference.mean) > 0 else -1
        return better if difference.real else 0

    def best_of(self, rows: Sequence[ReportRow]) -> ReportRow | None:
        """The row with the best mean; None where there is none."""
        return max(rows, key=lambda row: row.metric.better(row.mean), default=None)

    @cached_property
    def _better(self) -> dict[str, list[ReportRow]]:
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
        cells = {row.name: row for row in self.rows if not row.baseline}
        best = self.best_of([*cells.values()])
        if best is None:
            return []
        lost = {name for name in cells if not all(row.baseline for row in self._better[name])}
        ties = [name for name in cells if self.verdict(name, best.name) == 0 and name not in lost]
        return [best.name, *(name for name in ties if name != best.name)]

    def equal_rows(self) -> list[list[ReportRow]]:
        """Groups of at least two rows whose results are the same with every seed."""
        groups: dict[int, list[ReportRow]] = {}
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
        ranks = {
            row.name: 1 + len(self._better[row.name])
            for row in self.rows
            if best and self.verdict(row.name, best.name) is not None
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
        if not of or self.scores is None:
            return None
        mean, metric = self.scores.typical(sorted(cells) or None), self.known[0].metric
        gap = visible_difference(of, self._level(family), self.scores.examples, mean)
        if gap is None or metric.lowest is None or metric.highest is None:
            return gap
        return gap if gap <= metric.highest - metric.lowest else None

    def visible_of(self, difference: Difference, seeds: int) -> float | None:
        """The size that a difference as noisy as this one would need, with so many seeds."""
        assert self.scores is not None
        share, own = difference.seeds / seeds, difference.seeds - 1
        scaled = replace(
            difference,
            seeds=seeds,
            df=difference.df * (seeds - 1) / own,
            error=difference.error * share**0.5,
            disputed=difference.disputed / share,
        )
        level = self._level(self.main or self.pairs)
        return visible_difference([scaled], level, self.scores.examples, self.scores.typical())

    def seeds_to_see(self, difference: Difference) -> int | None:
        """How many seeds would show so large a difference in 4 of 5 runs; None: more than 50."""
        for seeds in (number for number in MORE_SEEDS if number > difference.seeds):
            gap = self.visible_of(difference, seeds)
            if gap is not None and gap <= abs(difference.mean):
                return seeds
        return None

    def _level(self, family: Mapping[Key, Difference]) -> float:
        """At which one difference of a family is tested in the first step of the correction."""
        return ALPHA * min(self._share[key] for key in family) / sum(self._share.values())


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
        self.limited = len(self._learning) > MOST_EXCHANGED
        self.rows = [] if self.limited else [row for row in rows if row.learning]
        tested = {
            (a.name, b.name): known
            for a, b in itertools.combinations([self._learning[row.name] for row in self.rows], 2)
            if not np.array_equal(a.examples, b.examples, equal_nan=True)
            if (known := compared(a, b))
        }
        self.tests = len(tested)
        adjusted = stats.false_discovery_control([p for _, p in tested.values()])
        self._sign = {
            pair: int(np.sign(-ratio)) if p <= ALPHA else 0
            for (pair, (ratio, _)), p in zip(tested.items(), adjusted, strict=True)
        }

    def verdict(self, name: str, other: str) -> int | None:
        """1 where the first learns significantly faster, -1 slower, 0 for a tie; None: unknown."""
        if not {name, other} <= {row.name for row in self.rows}:
            return None
        return self._sign.get((name, other), -self._sign.get((other, name), 0))

    def best_of(self, rows: Sequence[ReportRow]) -> ReportRow | None:
        """The row that solves in the fewest examples; None where there is none."""
        return min(rows, key=lambda row: self._learning[row.name].order, default=None)
