"""Which rows differ: comparisons over the seeds that both rows have.

What is claimed of two rows called different: *trained again with new seeds and scored on this test
set, they would differ again*. How much another test set would change them is the sampling error,
which the table states separately.

Seed s gives every cell the same split, the same order of examples and, for exact variants, the
same weights. So the difference within a seed is what is compared, by a paired t-test over seeds.
Two corrections are added:

- A few seeds may agree by luck, and an accuracy is a count of examples: three seeds that each
  differ by one example have no spread at all, and a t-test would call that certain. So where the
  metric is a share of examples, the examples on which two rows disagree must also fall to one side
  more often than chance allows (McNemar 1947, with Edwards's continuity correction). The larger of
  the two p-values counts.
- The best row is compared with all others, whichever row it turns out to be, so every pair counts
  as tested. Holm's correction (1979) over all pairs keeps the chance that any row is wrongly
  called different below 5%, however many rows there are.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from zoo.report.rows import Row
from zoo.report.stats.intervals import ENOUGH, LEVEL, ROUNDING, Interval, over_seeds, t_test

ALPHA = 1 - LEVEL


@dataclass(frozen=True)
class Difference(Interval):
    """A mean difference of a metric over seeds, in the metric's own direction.

    half: of its own 95% t-interval, not corrected; p: two-sided; None with fewer than three
    seeds. adjusted: p corrected for everything that was tested with it.
    """

    seeds: int = 0
    p: float | None = None
    adjusted: float | None = None

    @property
    def real(self) -> bool:
        """Whether it is significantly different from 0 after correction."""
        return self.adjusted is not None and self.adjusted < ALPHA


@dataclass(frozen=True)
class Term:
    """One pair in a sum of differences: ``weight * (plus - minus)``."""

    plus: Row
    minus: Row
    weight: float = 1.0


def difference(terms: Sequence[Term], seeds: Sequence[int] | None = None) -> Difference | None:
    """A weighted sum of paired differences, over the seeds that all rows have; None without any."""
    rows = [row for term in terms for row in (term.plus, term.minus)]
    if seeds is None:
        seeds = sorted(set.intersection(*(set(row.values) for row in rows)))
    if not seeds:
        return None
    values = [sum(t.weight * (t.plus.values[s] - t.minus.values[s]) for t in terms) for s in seeds]
    found, count = over_seeds(values), len(values)
    assert found is not None
    if found.half is None or found.sd is None:
        return Difference(found.mean, seeds=count)
    shares = all(row.examples for row in rows)
    p = t_test(found.mean, found.sd / math.sqrt(count), count - 1)
    p = max(p, _mcnemar(terms, seeds) if shares else 0.0)
    # One function computed in two ways may differ in the seventh digit and to the same side with
    # every seed: significant, and of no use to anybody. A share needs no such rule.
    metric = rows[0].metric
    if not shares and round(metric.scale * abs(found.mean), metric.unit_digits) == 0:
        p = 1.0
    return Difference(found.mean, found.half, found.sd, count, p)


def _mcnemar(terms: Sequence[Term], seeds: Sequence[int]) -> float:
    """Two-sided p-value that it is chance to which side the disputed examples fall.

    Each example of each seed votes with the sum of its weights: plus where ``plus`` alone is
    right, minus where ``minus`` alone is. For one pair that is McNemar's test. In an average over
    cells that are all the same model, an example counts once and not once per cell.
    """
    rows = [row for term in terms for row in (term.plus, term.minus)]
    if all(seed in row.wrong for row in rows for seed in seeds):
        wrong = [
            [t.weight * (t.minus.wrong[s].astype(float) - t.plus.wrong[s]) for t in terms]
            for s in seeds
        ]
        votes = np.concatenate([np.sum(of_seed, axis=0) for of_seed in wrong])
    else:
        # Only counts are known: assume the fewest disputes, all won by the better side.
        votes = np.concatenate([_fewest_votes(term, seed) for term in terms for seed in seeds])
    return p_of_votes(votes)


def p_of_votes(votes: NDArray[np.float64]) -> float:
    """Two-sided p-value that votes for the two sides differ by chance.

    If each vote had an even chance of either sign, the variance of their total would be the sum
    of their squares.
    """
    from scipy import special

    total, square, step = abs(votes.sum()), (votes**2).sum(), np.abs(votes).max(initial=0.0)
    if total - step <= ROUNDING:
        return 1.0
    return float(2 * special.ndtr(-(total - step) / math.sqrt(square)))


def _fewest_votes(term: Term, seed: int) -> NDArray[np.float64]:
    gap = term.plus.values[seed] - term.minus.values[seed]
    sign = math.copysign(term.weight, term.weight * gap)
    return np.full(round(abs(gap) * term.plus.examples), sign)


def corrected(differences: Sequence[Difference | None]) -> list[Difference | None]:
    """The same with ``adjusted``: Holm's correction over all that have a p-value."""
    adjusted = holm([None if d is None else d.p for d in differences])
    return [
        d if d is None or p is None else replace(d, adjusted=p)
        for d, p in zip(differences, adjusted, strict=True)
    ]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted for the number of tests (Holm 1979); None where nothing was tested."""
    adjusted: list[float | None] = [None] * len(p_values)
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    largest = 0.0
    for rank, (p, i) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - rank)))
        adjusted[i] = largest
    return adjusted


class Comparisons:
    """All pairs of the rows that can be compared, corrected for their number.

    A row that lost a seed to a crash or a divergence is left out: the seeds that remain are the
    ones that went well.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = [
            row for row in rows if not row.baseline and not row.failed and len(row.values) >= ENOUGH
        ]
        pairs = list(itertools.combinations(self.rows, 2))
        found = corrected([difference([Term(one, other)]) for one, other in pairs])
        self.pairs = {
            (one.name, other.name): d
            for (one, other), d in zip(pairs, found, strict=True)
            if d is not None and d.adjusted is not None
        }

    def verdict(self, one: str, other: str) -> int | None:
        """1 where the first is significantly better, -1 worse, 0 for a tie; None if unknown."""
        if one == other:
            return 0
        if (other, one) in self.pairs:
            return -found if (found := self.verdict(other, one)) is not None else None
        pair = self.pairs.get((one, other))
        if pair is None:
            return None
        return (1 if self.rows[0].metric.better(pair.mean) > 0 else -1) if pair.real else 0

    @property
    def best(self) -> str | None:
        """The row with the best mean, among at least two that can be compared."""
        if len(self.rows) < 2:
            return None
        metric = self.rows[0].metric
        return max(self.rows, key=lambda r: metric.better(statistics.fmean(r.values.values()))).name

    def ranks(self) -> dict[str, int]:
        """Row to rank: 1 for the best and its ties, else 1 + the rows significantly better."""
        best = self.best
        if best is None:
            return {}
        ranks = {}
        for row in self.rows:
            verdicts = [self.verdict(row.name, other.name) for other in self.rows]
            if (against_best := self.verdict(row.name, best)) is not None:
                ranks[row.name] = 1 + verdicts.count(-1) if against_best < 0 else 1
        return ranks
