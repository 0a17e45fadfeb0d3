"""How fast a row learns a streamed diagnostic: examples until solved, over rates and seeds.

Nothing is tuned: a row trains at every rate with every seed. A run that is not solved at the budget
is censored there, and counts as if it had been solved then: what is said of its row is a bound. One
that diverged did not solve; one that has no outcome (a crash, a timeout) is missing.

Two rows are compared by exchanging them within pairs of runs, each of one rate and one seed (Fisher
1935, The Design of Experiments, section 21):

- The statistic is the smallest mean over rates of log examples of the one, less that of the other.
  So the choice of the best rate is made anew in each exchange, and biases nothing.
- Where the two learn alike at every rate, each exchange of a set of pairs is as likely as what was
  seen, so that p is the share of exchanges whose statistic is at least as large, on either side. Of
  few pairs all exchanges are made, of many 10,000 at random, and the observed one is one of them.
- The interval is of those ratios that the same test does not reject: the examples of the one,
  multiplied by the ratio at every rate and censored again at the budget, are exchanged with those
  of the other. Runs that are censored on one side leave it open there: a row that never solves may
  be slower by any ratio.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zoo.errors import counted
from zoo.report.stats.intervals import ALPHA, ROUNDING, Array, Interval, wilson
from zoo.sweep.records import Record

DRAWS = 10_000  # exchanges at random, and most of all that there are
SEED = 49  # of the random exchanges
NEAR = 1e-9  # statistics that rounding alone tells apart
# Seeds of a claim, and the level there: what is undecided at the first is tested once more at the
# second. Of rows that learn alike at every rate some 5% are told apart at either of them (``python
# -m bench.simulate``).
STAGES = ((8, 0.03), (12, 0.03))
HALVINGS = 12  # of the range that holds an end of an interval


@dataclass(frozen=True)
class Learning:
    """The runs of one row on one streamed diagnostic, as arrays (rates, seeds).

    examples: until it was solved, the budget where it was not, NaN where a run is missing. solved:
    whether it was. scores: on the test split, NaN where there is none.
    """

    name: str
    examples: Array
    solved: NDArray[np.bool_]
    scores: Array
    rates: tuple[float, ...]
    seeds: tuple[int, ...]
    budget: int

    @cached_property
    def best(self) -> int:
        """The place of the rate with the smallest mean log examples.

        Of equal ones the one that more seeds solve, then that with the best mean score.
        """
        return min(range(len(self.rates)), key=self._orders.__getitem__)

    @cached_property
    def _orders(self) -> list[tuple[float, ...]]:
        """Of each rate: mean log examples, less than none for solved runs and for the score."""
        logs, scores = _means(np.log(self.examples), np.inf), _means(self.scores, -np.inf)
        parts = zip(logs.round(9), -self.solved.sum(axis=1), -scores, strict=True)
        return [tuple(map(float, of_rate)) for of_rate in parts]

    @property
    def order(self) -> tuple[float, ...]:
        """By which rows are sorted, the fastest first."""
        return self._orders[self.best]

    @property
    def rate(self) -> float:
        """The best rate."""
        return self.rates[self.best]

    @property
    def times_solved(self) -> int:
        """In how many of its runs at the best rate it was solved."""
        return int(self.solved[self.best].sum())

    @property
    def runs(self) -> int:
        """How many runs there are at the best rate."""
        return int((~np.isnan(self.examples[self.best])).sum())

    @property
    def share(self) -> Interval:
        """The share of solved runs at the best rate, with Wilson's 95% interval."""
        return wilson(self.times_solved / self.runs, self.runs)

    @property
    def median(self) -> float | None:
        """Median examples until solved at the best rate; None unless more than half solve."""
        if 2 * self.times_solved <= self.runs:
            return None
        return float(np.nanmedian(self.examples[self.best]))

    @property
    def score(self) -> float | None:
        """Median score of the test split at the best rate; None where no run has one."""
        scores = self.scores[self.best]
        return None if np.isnan(scores).all() else float(np.nanmedian(scores))

    @property
    def window(self) -> tuple[float, ...]:
        """The rates at which more than half of the runs solve."""
        runs = (~np.isnan(self.examples)).sum(axis=1)
        most = 2 * self.solved.sum(axis=1) > runs
        return tuple(rate for rate, solves in zip(self.rates, most, strict=True) if solves)

    def text(self) -> str:
        """``6/6 · 12k · 3 rates``; ``2/6 · >60k``, censored; ``0/6 · .53``, the median score."""
        solved = f"{self.times_solved}/{self.runs}"
        if self.median is not None:
            return f"{solved} · {thousands(self.median)} · {counted(len(self.window), 'rate')}"
        if self.times_solved:
            return f"{solved} · >{thousands(self.budget)}"
        if self.score is None:
            return solved
        return f"{solved} · {self.score:.2f}".replace(" 0.", " .").replace("1.00", "1.0")


def thousands(examples: float) -> str:
    """``800``, ``9.6k``, ``13k``."""
    if examples < 1000:
        return f"{examples:.0f}"
    rounded = f"{examples / 1000:.1f}" if examples < 9950 else f"{examples / 1000:.0f}"
    return f"{rounded.removesuffix('.0')}k"


def learning_of(records: Sequence[Record], metric: str = "") -> dict[str, Learning]:
    """Row name to its runs, of the records of a run on a streamed diagnostic; else empty.

    The latest record of a row, rate and seed counts. A row without any outcome is left out. metric:
    of the scores; by default the first.
    """
    latest = {
        (record.name, float(record.config["training"]["lr"]), record.seed or 0): record
        for record in records
        if record.kind == "train" and "solved" in record.metrics
    }
    rates, seeds = sorted({rate for _, rate, _ in latest}), sorted({seed for *_, seed in latest})
    budget = max((record.metrics["budget"] for record in latest.values()), default=0)
    shape = len(rates), len(seeds)
    rows: dict[str, Learning] = {}
    for (name, rate, seed), record in latest.items():
        if name not in rows:
            arrays = np.full(shape, np.nan), np.zeros(shape, dtype=bool), np.full(shape, np.nan)
            rows[name] = Learning(name, *arrays, tuple(rates), tuple(seeds), budget)
        row, place = rows[name], (rates.index(rate), seeds.index(seed))
        row.solved[place] = record.metrics["solved"]
        row.examples[place] = record.metrics["examples_seen"] if row.solved[place] else budget
        key = metric or record.metric_descriptions[0].name
        row.scores[place] = record.metrics.get(key, np.nan)
    return rows


@dataclass(frozen=True)
class Exchange:
    """How many times the examples of the one row the other needs, each at the best rate.

    ratio: NaN where they have no run in common. low, high: the ends of the 95% interval, 0 and
    infinity where it is open. p: that the two learn alike.
    """

    ratio: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class _Task:
    """Log examples (rates, seeds) of two rows, NaN in both where either has no run, and the limit
    at which they are censored.
    """

    a: Array
    b: Array
    limit: float

    def shifted(self, shift: float) -> _Task:
        """The second row slower by this log ratio, or else the first faster, censored again."""
        a, b = self.a + max(-shift, 0.0), self.b + max(shift, 0.0)
        return _Task(np.minimum(a, self.limit), np.minimum(b, self.limit), self.limit)


def exchanged(a: Learning, b: Learning, draws: int = DRAWS) -> Exchange:
    """Two rows on one task: examples of the first over those of the second."""
    return exchanged_over([(a, b)], draws)


def exchanged_over(pairs: Sequence[tuple[Learning, Learning]], draws: int = DRAWS) -> Exchange:
    """The same over tasks, exchanged within each: the mean of their log ratios counts."""
    tasks = [task for pair in pairs if (task := _task(*pair))]
    if not tasks:
        return Exchange(math.nan, 0.0, math.inf, 1.0)
    observed, p = _test(tasks, draws)

    def rejected(shift: float) -> bool:
        return _test([task.shifted(shift) for task in tasks], draws)[1] <= ALPHA

    def end(inside: float, outside: float) -> float:
        """The last shift on the way from inside to outside that is not rejected."""
        if not rejected(outside):
            return math.copysign(math.inf, outside)
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
        return inside

    # Further away all runs of one row are censored.
    far = max(task.limit - min(np.nanmin(task.a), np.nanmin(task.b)) for task in tasks) + NEAR
    # Equality is in the interval where the test does not reject it, and else it is not.
    apart = p <= ALPHA
    low = end(observed if apart else min(observed, 0.0), 0.0 if apart and observed > 0 else -far)
    high = end(observed if apart else max(observed, 0.0), 0.0 if apart and observed < 0 else far)
    return Exchange(math.exp(observed), math.exp(low), math.exp(high), p)


def compared(a: Learning, b: Learning, draws: int = DRAWS) -> tuple[float, float] | None:
    """Log ratio and p of ``exchanged``, in a thirtieth of its time; None without a pair of runs."""
    task = _task(a, b)
    return _test([task], draws) if task else None


def _task(a: Learning, b: Learning) -> _Task | None:
    """The runs that both rows have; None where there are none."""
    # Where both rows have the same rates and seeds: the places in the first, and in the second.
    _, *rates = np.intersect1d(a.rates, b.rates, return_indices=True)
    _, *seeds = np.intersect1d(a.seeds, b.seeds, return_indices=True)
    limit = math.log(min(a.budget, b.budget))
    logs = [
        np.minimum(np.log(row.examples[np.ix_(*places)]), limit)
        for row, *places in zip((a, b), rates, seeds, strict=True)
    ]
    missing = np.isnan(logs[0]) | np.isnan(logs[1])
    known = ~missing.all(axis=1)
    if not known.any():
        return None
    first, second = (np.where(missing, np.nan, of)[known] for of in logs)
    return _Task(first, second, limit)


def _test(tasks: Sequence[_Task], draws: int) -> tuple[float, float]:
    """The statistic and its p, two-sided."""
    steps, bases = [], []
    for task in tasks:
        change = np.nan_to_num(task.b - task.a)
        runs = (~np.isnan(task.a)).sum(axis=1)
        # An exchange of equal runs changes nothing, so that it need not be drawn.
        rates, seeds = np.nonzero(np.abs(change) > ROUNDING)
        step = np.zeros((len(rates), len(runs)))
        step[np.arange(len(rates)), rates] = change[rates, seeds] / runs[rates]
        steps.append(step)
        bases.append((np.nanmean(task.a, axis=1), np.nanmean(task.b, axis=1)))
    exchanges, every = _exchanges(sum(map(len, steps)), draws)
    statistics, at = np.zeros(len(exchanges)), 0
    for step, (a, b) in zip(steps, bases, strict=True):
        moved = step.T @ exchanges[:, at : at + len(step)].T  # (rates, exchanges)
        statistics += (a[:, None] + moved).min(axis=0) - (b[:, None] - moved).min(axis=0)
        at += len(step)
    observed = sum(float(a.min() - b.min()) for a, b in bases)
    extreme = int((np.abs(statistics) >= abs(observed) - NEAR).sum())
    p = extreme / len(exchanges) if every else (1 + extreme) / (1 + draws)
    return observed / len(tasks), p


def _exchanges(pairs: int, draws: int) -> tuple[Array, bool]:
    """Sets of pairs as rows of 0 and 1, and whether they are all there are."""
    if 2**pairs <= draws:
        return np.array(list(itertools.product((0.0, 1.0), repeat=pairs))), True
    generator = np.random.default_rng(SEED)
    return generator.integers(0, 2, (draws, pairs), dtype=np.int8).astype(float), False


def _means(values: Array, none: float) -> Array:
    """Over seeds, of those that are there; none: the mean of no value."""
    return np.asarray(np.ma.masked_invalid(values).mean(axis=1).filled(none))
