"""Which scores differ: comparisons over the seeds that both sides have.

The claim made where two cells are set apart: *trained again with new seeds and scored on this
test set, they would differ again*. Other documents are another matter; the table tells the test
set's own sampling error beside it.

Seed s gives every cell the same split, order and, for exact variants, the same weights, so the
difference within a seed is what is compared: a paired t-test over seeds. Two things are added,
the first where the score is a share of documents (an accuracy is, bits per byte are not):

- A few seeds may agree by luck, and accuracies are whole documents: three seeds that each differ
  by one document have no spread at all, and a t-test would call that certain. So the documents
  have a say too: those on which the two disagree must fall to one side by more than chance
  (McNemar 1947, with Edwards's correction for continuity). The larger of both p-values counts.
- Whichever cell happens to come out best is compared with all others, so every pair counts as
  looked at: p-values are corrected for all of them (Holm 1979), and the chance that any row is
  set apart from its equal stays below 5%, however many rows there are.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from zoo.report.stats.intervals import ENOUGH, LEVEL, Interval, t_half
from zoo.report.tables.rows import Row

ALPHA = 1 - LEVEL
NOTHING = 1e-12  # what rounding leaves of a share


@dataclass(frozen=True)
class Difference:
    """A mean difference of scores over seeds, in the score's own direction.

    half: half its own 95% t-interval; p: two-sided; None with fewer than three seeds.
    adjusted: p after correction for everything that was looked at beside it.
    """

    mean: float
    seeds: int
    half: float | None = None
    p: float | None = None
    adjusted: float | None = None

    @property
    def interval(self) -> Interval:
        """The mean with its interval, uncorrected."""
        return Interval(self.mean, self.half)

    @property
    def real(self) -> bool:
        """Whether it is told apart from nothing, after correction."""
        return self.adjusted is not None and self.adjusted < ALPHA


@dataclass(frozen=True)
class Term:
    """One pair in a sum of differences: ``weight * (plus - minus)``."""

    plus: Row
    minus: Row
    weight: float = 1.0


def difference(terms: Sequence[Term], seeds: Sequence[int] | None = None) -> Difference | None:
    """A weighted sum of paired differences, over the seeds that all have; None without any."""
    rows = [row for term in terms for row in (term.plus, term.minus)]
    if seeds is None:
        seeds = sorted(set.intersection(*(set(row.values) for row in rows)))
    if not seeds:
        return None
    values = [sum(t.weight * (t.plus.values[s] - t.minus.values[s]) for t in terms) for s in seeds]
    mean, count = statistics.fmean(values), len(values)
    if count < ENOUGH:
        return Difference(mean, count)
    sd = statistics.stdev(values)
    p = max(_p_of_seeds(mean, sd, count), _p_of_documents(terms, seeds))
    if not _shown(mean, rows):
        p = 1.0
    return Difference(mean, count, t_half(sd, count), p)


def _shown(mean: float, rows: Sequence[Row]) -> bool:
    """Whether a difference has a digit in a table, or is whole documents, which say it themselves.

    One function at two costs gives bits per byte that differ in the seventh digit, and with every
    seed to the same side: sure enough for a t-test, and nothing to anybody.
    """
    score = rows[0].score
    shares = all(row.documents for row in rows)
    return shares or float(score.change.format(score.scale * abs(mean))) > 0


def _p_of_seeds(mean: float, sd: float, count: int) -> float:
    """Two-sided p-value of the t-test that the mean is 0."""
    from scipy import special

    # Sums of shares such as 0.1 leave 1e-17 where there is nothing: that is no difference.
    if abs(mean) < NOTHING:
        return 1.0
    error = sd / math.sqrt(count)
    return 0.0 if error < NOTHING else float(2 * special.stdtr(count - 1, -abs(mean) / error))


def _p_of_documents(terms: Sequence[Term], seeds: Sequence[int]) -> float:
    """Two-sided p-value that it is chance to which side the documents in dispute fall.

    Each document of each seed gives the sum of its weights, plus where ``plus`` alone is right
    and minus where ``minus`` alone is. Of one pair that is McNemar's test. Where all cells of an
    average are the same model, a document counts once and not once a cell.
    """
    rows = [row for term in terms for row in (term.plus, term.minus)]
    if not all(row.documents for row in rows):
        return 0.0  # a score that is not a share of documents: they have no say
    if all(seed in row.wrong for row in rows for seed in seeds):
        votes = np.concatenate([_votes(terms, seed) for seed in seeds])
    else:
        # Known is only how many: the least dispute is one that all went to the better side.
        votes = np.concatenate([_least_votes(term, seed) for term in terms for seed in seeds])
    return p_of_votes(votes)


def p_of_votes(votes: NDArray[np.float64]) -> float:
    """Two-sided p-value that votes for one side and the other fall by chance.

    Had each an even chance of either sign, their total would have the sum of their squares as its
    variance.
    """
    from scipy import special

    total, square, step = abs(votes.sum()), (votes**2).sum(), np.abs(votes).max(initial=0.0)
    if total - step <= NOTHING:
        return 1.0
    return float(2 * special.ndtr(-(total - step) / math.sqrt(square)))


def _votes(terms: Sequence[Term], seed: int) -> NDArray[np.float64]:
    votes: NDArray[np.float64] = np.sum(
        [t.weight * (t.minus.wrong[seed].astype(float) - t.plus.wrong[seed]) for t in terms], axis=0
    )
    return votes


def _least_votes(term: Term, seed: int) -> NDArray[np.float64]:
    gap = term.plus.values[seed] - term.minus.values[seed]
    sign = math.copysign(term.weight, term.weight * gap)
    return np.full(round(abs(gap) * term.plus.documents), sign)


def corrected(differences: Sequence[Difference | None]) -> list[Difference | None]:
    """The same with ``adjusted``: Holm's correction for all that have a p-value."""
    adjusted = holm([None if d is None else d.p for d in differences])
    return [
        d if d is None or p is None else replace(d, adjusted=p)
        for d, p in zip(differences, adjusted, strict=True)
    ]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values of everything that was tested; None where nothing was."""
    from statsmodels.stats.multitest import multipletests

    tested = [i for i, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    if tested:
        known = np.array([p_values[i] for i in tested], dtype=float)
        for i, p in zip(tested, multipletests(known, ALPHA, "holm")[1], strict=True):
            adjusted[i] = float(p)
    return adjusted


class Comparisons:
    """Every pair of the rows that can be compared, corrected for their number.

    A row that lost a seed to a crash or a divergence is not compared: the seeds that are left
    are the ones that went well.
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
        """1 where the first is really better, -1 worse, 0 for a tie; None where nobody can say."""
        if one == other:
            return 0
        if (one, other) in self.pairs:
            found, sign = self.pairs[one, other], 1
        elif (other, one) in self.pairs:
            found, sign = self.pairs[other, one], -1
        else:
            return None
        return sign * (1 if self.rows[0].score.better(found.mean) > 0 else -1) if found.real else 0

    @property
    def best(self) -> str | None:
        """The row of the best mean, among at least two that can be compared."""
        if len(self.rows) < 2:
            return None
        score = self.rows[0].score
        return max(self.rows, key=lambda r: score.better(statistics.fmean(r.values.values()))).name

    def ranks(self) -> dict[str, int]:
        """Row to rank: 1 for the best and its ties, else one more than the rows really better."""
        best = self.best
        if best is None:
            return {}
        ranks = {}
        for row in self.rows:
            against = [self.verdict(row.name, other.name) for other in self.rows]
            if (told := self.verdict(row.name, best)) is not None:
                ranks[row.name] = 1 + against.count(-1) if told < 0 else 1
        return ranks
