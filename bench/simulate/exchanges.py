"""Rows that learn a streamed diagnostic or do not: how often the exchange test tells two apart.

A run solves with a probability of its row and rate, and is censored otherwise. The log of its
examples has noise of its own, and noise of its seed that both rows share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zoo.report.stats.intervals import ALPHA
from zoo.report.stats.learning import STAGES, Learning, compared, exchanged

SEEDS = (4, 5, 6, 8, 10)
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
BUDGET, MEDIAN = 60_000, 12_000  # examples
OWN, SHARED = 0.35, 0.15  # standard deviations of a run's log examples, and of a seed's
COVERED = (6, 8)  # seeds of the intervals


@dataclass(frozen=True)
class Truth:
    """Two rows: with which probability a run solves at each rate, and how many times the examples
    of the first the second needs.
    """

    name: str
    a: Sequence[float]
    b: Sequence[float]
    times: float = 1.0

    @property
    def kind(self) -> str:
        """``alike`` at every rate, ``window``: at the best one, or ``different``."""
        if self.times != 1.0 or max(self.a) != max(self.b):
            return "different"
        return "alike" if self.a == self.b else "window"


ALL, SOME, MOST = (1.0, 1.0, 1.0, 1.0), (0.0, 0.5, 0.5, 0.0), (0.1, 0.5, 0.9, 0.3)
TRUTHS = (
    Truth("both solve at every rate", ALL, ALL),
    Truth("both .5, at two rates", SOME, SOME),
    Truth("both .1, .5, .9 and .3", MOST, MOST),
    Truth("both .9, at different rates", (0, 0.9, 0, 0), (0, 0, 0.9, 0)),
    Truth("both .9, at three rates and at one", (0.9, 0.9, 0.9, 0), (0, 0.9, 0, 0)),
    Truth("both 1.0, at four rates and at one", ALL, (0, 1, 0, 0)),
    Truth(".9 against .3, at two rates", (0, 0.9, 0.9, 0), (0, 0.3, 0.3, 0)),
    Truth(".9 and .2 against .3 and .1", (0, 0.9, 0.2, 0), (0, 0.3, 0.1, 0)),
    Truth("1.0 against 0, at two rates", (0, 1, 1, 0), (0, 0, 0, 0)),
    Truth("both solve, one in twice the examples", (1, 1, 1, 0), (1, 1, 1, 0), 2.0),
)


def drawn(truth: Truth, seeds: int, generator: np.random.Generator) -> tuple[Learning, Learning]:
    """The runs of both rows."""
    shape = len(RATES), seeds
    shared = SHARED * generator.normal(size=seeds)
    rows = []
    for name, solving, times in (("a", truth.a, 1.0), ("b", truth.b, truth.times)):
        logs = math.log(MEDIAN * times) + shared + OWN * generator.normal(size=shape)
        solved = generator.random(shape) < np.array(solving)[:, None]
        solved &= logs < math.log(BUDGET)
        examples = np.where(solved, np.exp(logs), BUDGET)
        scores = np.where(solved, 0.99, 0.5)
        rows.append(Learning(name, examples, solved, scores, RATES, tuple(range(seeds)), BUDGET))
    return rows[0], rows[1]


def first_seeds(row: Learning, seeds: int) -> Learning:
    """The row with its first seeds alone."""
    names = "examples", "solved", "scores"
    parts: dict[str, Any] = {name: getattr(row, name)[:, :seeds] for name in names}
    return replace(row, **parts, seeds=row.seeds[:seeds])


def told(a: Learning, b: Learning, truth: Truth, level: float = ALPHA) -> bool:
    """Whether two rows are told apart, those that differ in the right direction."""
    tested = compared(a, b)
    right = truth.kind != "different" or (tested is not None and tested[0] < 0)
    return tested is not None and tested[1] <= level and right


def lines_of_exchanges(runs: int, seed: int, known: Sequence[dict[str, Any]]) -> Iterator[Any]:
    """One line for each truth and number of seeds; of those that are known, the known one."""
    work = [("exchange", truth, seeds) for truth, seeds in itertools.product(TRUTHS, SEEDS)]
    work += [("stages", truth, STAGES[-1][0]) for truth in TRUTHS]
    work += [
        ("intervals", truth, seeds)
        for truth, seeds in itertools.product(TRUTHS, COVERED)
        if truth.a == truth.b and max(truth.a) == 1.0
    ]
    for shows, truth, seeds in work:
        runs_here = runs // 4 if shows == "intervals" else runs  # each of which takes 30 tests
        about = {"shows": shows, "truth": truth.name, "seeds": seeds, "runs": runs_here}
        about["kind"] = truth.kind
        if line := next((line for line in known if about.items() <= line.items()), None):
            yield line
            continue
        generator = np.random.default_rng([seed, TRUTHS.index(truth), seeds, len(shows)])
        outcomes = [
            _outcome(shows, truth, drawn(truth, seeds, generator)) for _ in range(runs_here)
        ]
        yield about | {
            name: float(np.mean([outcome[name] for outcome in outcomes])) for name in outcomes[0]
        }


def _outcome(shows: str, truth: Truth, rows: tuple[Learning, Learning]) -> dict[str, float]:
    if shows == "intervals":
        exchange = exchanged(*rows)
        return {"covered": exchange.low <= 1 / truth.times <= exchange.high}
    if shows == "exchange":
        return {"found": told(*rows, truth)}
    for seeds, level in STAGES:
        a, b = (first_seeds(row, seeds) for row in rows)
        found = told(a, b, truth, level)
        if found:
            break
    return {"found": found, "mean_seeds": seeds}
