"""Every verdict of a report, from one model, so that no two places of it disagree.

Every pair of rows, baselines included, the main effect of every choice, and the interactions are
one family. Holm's correction over it keeps the chance that anything is wrongly called different
below 5%. Main effects are averages over many cells and answer what was asked, so half of the level
is divided among them at first; pairs and interactions share the other half, and what one test does
not need passes on to the rest. Without effects the pairs have all of it.

A difference that is both an effect and a pair has one verdict. Rows with the same results are one
row here: they are equal, and their differences from others count once.

The pairs of very many rows would be millions. Above MOST_RANKED rows only those with the best cell,
the best baseline or the reference are tested. Which row is best the scores say themselves, so that
the pairs with it share their part of the level with all pairs that are not tested: each of these
could have been the largest. The reference was chosen beforehand: the pairs with it have the other
half of the level, together with the interactions.
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
CHOSEN = 0.5  # of the rest, for pairs with a row that was chosen by its score, where not all count
MOST_RANKED = 200  # rows, of which all pairs are tested


class Verdicts:
    """What is known of every difference between these rows.

    main, interactions: the effects, as weights of rows. reference: the cell that others are
    compared with. enough: how many seeds a verdict needs. known: the rows that have a score. rows:
    those that are ranked. A row that lost a seed to a crash or a divergence is not: the seeds that
    remain are those that went well. Where no cell can be ranked, nothing is. rivals: the ranked
    rows that all others are compared with. limited: whether these are not all. pairs, main: the
    differences that were tested. tests: how many differences are corrected for.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        main: Sequence[Weights] = (),
        interactions: Sequence[Weights] = (),
        reference: str = "",
        enough: int = ENOUGH,
    ) -> None:
        self.enough = enough
        self.known = [row for row in rows if row.values]
        self.scores = replace(scores_of(self.known), enough=enough) if self.known else None
        self._place = {row.name: number for number, row in enumerate(self.known)}
        self._first: list[int] = self.scores.duplicates().tolist() if self.scores else []
        fixed: list[bool] = self.scores.fixed.tolist() if self.scores else []
        self.rows = [
            row
            for row, same in zip(self.known, fixed, strict=True)
            if not row.failed and (same or len(row.values) >= enough)
        ]
        # Deterministic baselines alone would rank above cells that have too few seeds.
        if all(row.baseline for row in self.rows) and not all(row.baseline for row in rows):
            self.rows = []
        self._ranked = {row.name for row in self.rows}
        ranked = sorted({self._first[self._place[row.name]] for row in self.rows})
        self.limited = len(ranked) > MOST_RANKED
        self.rivals = self._rivals(reference) if self.limited else self.rows
        families = [
            self._test(self._key(one)[0] for one in main),
            self._test(self._key(one)[0] for one in interactions),
            self._test(self._pairs(ranked)),
        ]
        self.main, others, self.pairs = (
            {key: found for key, found in family.items() if found.p is not None}
            for family in families
        )
        chosen: dict[Key, Difference] = {}
        if self.limited:
            base = self._first[self._place[reference]] if reference in self._ranked else None
            chosen = {key: d for key, d in self.pairs.items() if base not in dict(key)}
        planned = [key for key in others | self.pairs if key not in chosen]
        # Every pair without the reference could have been one with the best row.
        possible = math.comb(len(ranked), 2) - len(self.pairs) + len(chosen) if chosen else 0
        level = 1 - EFFECTS if self.main else 1.0
        part = (CHOSEN if planned else 1.0) if chosen else 0.0
        self._share: dict[Key, float] = {}
        self._divide(EFFECTS, self.main, len(self.main))
        self._divide((1 - part) * level, planned, len(planned))
        each = self._divide(part * level, chosen, possible)
        untested = possible - len(chosen)
        self._untested = each * untested
        self.tests = len(self._share) + untested
        # A pair that is an effect too is tested as a pair: there its family is larger.
        tests = families[0] | families[1] | families[2]
        shares = [self._share.get(key, 0.0) for key in tests]
        found = judged(list(tests.values()), shares, self._untested)
        self._found = dict(zip(tests, found, strict=True))

    @cached_property
    def intervals(self) -> dict[str, Interval | None]:
        """Row name to its mean with the interval, of the rows that have a score."""
        found = row_intervals(self.scores) if self.scores else []
        return dict(zip(self._place, found, strict=True))

    def _divide(self, level: float, among: Iterable[Key], count: int) -> float:
        """Divide a part of the level among so many differences, of which these are tested."""
        each = level / max(count, 1)
        for key in among:
            self._share[key] = self._share.get(key, 0.0) + each
        return each

    def _rivals(self, reference: str) -> list[Row]:
        """The best cell, the best baseline and the reference, of those that are ranked."""
        cells, baselines = ([r for r in self.rows if bool(r.baseline) == b] for b in (False, True))
        given = [row for row in self.rows if row.name == reference]
        found = [self.best_of(cells), self.best_of(baselines), *given]
        return list({row.name: row for row in found if row}.values())

    def _pairs(self, ranked: Sequence[int]) -> Iterable[Key]:
        """Of ranked rows, in their order: all, or those with a rival."""
        pairs: Iterable[Sequence[int]] = itertools.combinations(ranked, 2)
        if self.limited:
            rivals = [self._first[self._place[row.name]] for row in self.rivals]
            pairs = (sorted((a, b)) for b in rivals for a in ranked if a != b)
        return (((a, 1.0), (b, -1.0)) for a, b in pairs)

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

        One that is not in the family is tested at the level of a single one; a pair that was left
        out of it, because there are very many, is None.
        """
        if self.scores is None or any(name not in self._place for name in weights):
            return None
        key, sign = self._key(weights)
        if not key:
            places = [self._place[name] for name in weights]
            seeds = int((~np.isnan(self.scores.values[places]).any(axis=0)).sum())
            return Difference(0.0, 0.0, seeds=seeds, p=1.0, adjusted=1.0, equal=True)
        if key not in self._found:
            if self.limited and len(key) == 2:
                return None
            (self._found[key],) = judged(list(self._test([key]).values()))
        found = self._found[key]
        if not found.seeds:
            return None
        return found if sign > 0 else replace(found, mean=-found.mean)

    def pair(self, one: str, other: str) -> Difference | None:
        """The first row minus the second."""
        return self.difference({one: 1.0, other: -1.0}) if one != other else None

    def verdict(self, one: str, other: str) -> int | None:
        """1 where the first is significantly better, -1 worse, 0 for a tie; None if unknown."""
        if one == other:
            return 0
        if not {one, other} <= self._ranked:
            return None
        found = self.pair(one, other)
        if found is None or found.adjusted is None:
            return None
        return (1 if self.known[0].metric.better(found.mean) > 0 else -1) if found.real else 0

    def best_of(self, rows: Sequence[Row]) -> Row | None:
        """The row with the best mean of those that are ranked; None where there is none."""
        of = [row for row in rows if row.name in self._ranked]
        return max(of, key=lambda row: row.metric.better(row.mean), default=None)

    @cached_property
    def _better(self) -> dict[str, list[Row]]:
        """Row to the rivals that are significantly better."""
        return {
            row.name: [one for one in self.rivals if self.verdict(row.name, one.name) == -1]
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
