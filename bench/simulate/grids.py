"""Simulated scores: rows with a known accuracy, trained anew with every seed.

Document n of N has a hardness h_n, the same for all rows: quantiles of a normal distribution. A
row gets it right with probability 1 / (1 + exp(h_n - o)), where the log odds o are the row's own,
plus what a seed does to all rows alike, plus what training this row with this seed does.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from zoo.report.stats.intervals import Array
from zoo.report.stats.scores import Scores

# As wide as makes two rows of 0.94 disagree on some 35 of 1,000 documents. That and the noise are
# of a run on bbc-news.
HARDNESS = 6.0
NOISE = 0.0047  # residual standard deviation
SHARED = 0.003  # of what a seed does to all rows
USUAL = 0.94  # mean accuracy


@dataclass(frozen=True)
class Scenario:
    """gap: by how much the last row is less accurate, in points. noisy: rows with more noise,
    ``times`` as much. equal: rows that are copies of the first one. shared: standard deviation of
    what a seed does to all rows.
    """

    cells: int
    seeds: int
    gap: float = 0.0
    noisy: int = 0
    times: float = 3.0
    accuracy: float = USUAL
    examples: int = 1000
    equal: int = 0
    shared: float = SHARED

    @property
    def noise(self) -> str:
        """In words."""
        if self.equal:
            return f"{self.equal + 1} of them one model"
        if not self.noisy:
            return "equal"
        return f"{self.noisy} {'rows' if self.noisy > 1 else 'row'} × {self.times:g}"


@functools.cache
def _hardness(examples: int) -> Array:
    return np.asarray(HARDNESS * stats.norm.ppf((np.arange(examples) + 0.5) / examples))


@functools.cache
def _odds(accuracy: float, examples: int, spread: float) -> float:
    """The log odds that give this accuracy, averaged over trainings that differ by ``spread``."""
    points, weights = np.polynomial.hermite_e.hermegauss(15)
    weights = weights / weights.sum()

    def miss(odds: float) -> float:
        right = special.expit(odds + spread * points[:, None] - _hardness(examples)).mean(axis=1)
        return float(weights @ right) - accuracy

    return float(optimize.brentq(miss, -300, 300))


@dataclass(frozen=True)
class Drawn:
    """truth: (R,), the accuracy over all possible seeds on these documents."""

    scores: Scores
    truth: Array


def draw(scenario: Scenario, generator: np.random.Generator) -> Drawn:
    """One simulated run."""
    s, count = scenario, scenario.examples
    hardness = _hardness(count)
    # The spread of the log odds is that which gives this noise at an accuracy of 0.94.
    p = special.expit(_odds(USUAL, count, 0.0) - hardness)
    slope, floor = (p * (1 - p)).mean(), (p * (1 - p)).sum() / count**2
    noise = np.full(s.cells, NOISE)
    noise[: s.noisy] *= s.times
    own = np.sqrt(np.maximum(noise**2 - floor, 0.0)) / slope
    shared = s.shared / slope
    truth = np.full(s.cells, s.accuracy)
    truth[-1] -= s.gap / 100
    spread = np.hypot(own, shared)
    centre = [_odds(a, count, round(float(x), 9)) for a, x in zip(truth, spread, strict=True)]
    odds = np.array(centre)[:, None] + shared * generator.normal(size=s.seeds)
    odds = odds + own[:, None] * generator.normal(size=(s.cells, s.seeds))
    right = special.expit((odds[:, :, None] - hardness).astype(np.float32))
    wrong = generator.random(right.shape, dtype=np.float32) >= right  # (R, S, N)
    wrong[1 : s.equal + 1] = wrong[0]
    return Drawn(scores_from(wrong), truth)


def scores_from(wrong: NDArray[np.bool_]) -> Scores:
    """Scores of rows by their wrong examples (R, S, N)."""
    return Scores(
        values=1 - wrong.mean(axis=2),
        fixed=np.zeros(len(wrong), dtype=bool),
        share=True,
        examples=wrong.shape[2],
        counted=wrong.shape[2],
        wrong=wrong.swapaxes(0, 1),
        listed=np.ones(wrong.shape[1::-1], dtype=bool),
    )
