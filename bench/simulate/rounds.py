"""Intervals of speeds from simulated rounds: how often they hold the true ratio.

In each round the log of a model's time is off by noise of its own; with all the noise of a ratio
in ``noise``, a quarter of whose square is of rounds in which something disturbed the model.
Comparisons with other libraries have a few rounds; the t-interval is the published one, and a
bootstrap of the median is what they had before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.turns import interval
from zoo.report.stats.intervals import LEVEL

COMPARED = (2, 3, 5, 10)  # rounds of comparisons
RESAMPLES = 999
DISTURBED = 0.05  # share of the measurements of one model in one round


def noisy_logs(
    noise: float, shape: tuple[int, ...], draw: np.random.Generator
) -> NDArray[np.float64]:
    """Logs of times, all of whose truths are 0, such that of two the ratio has this noise."""
    usual = draw.normal(0.0, noise / np.sqrt(2) * np.sqrt(0.75), shape)
    strong = noise / np.sqrt(2) * np.sqrt(0.25 / DISTURBED)
    return usual + (draw.random(shape) < DISTURBED) * draw.normal(0.0, strong, shape)


def lines_of_comparisons(runs: int, seed: int) -> list[dict[str, Any]]:
    """One line for each number of rounds: coverage and mean width of both intervals, as shares."""
    found = []
    for rounds in COMPARED:
        for noise in (0.01, 0.05):
            draw = np.random.default_rng([seed, rounds, round(1000 * noise)])
            ours, theirs = noisy_logs(noise, (2, runs, rounds), draw)
            logs = theirs - ours  # the true ratio is 1
            ends = [(found.low, found.high) for found in map(interval, np.exp(logs))]
            t = np.log(np.array(ends, dtype=float))
            line = {"shows": "comparisons", "rounds": rounds, "noise": noise, "runs": runs}
            for name, (low, high) in (("t", t.T), ("bootstrap", _bootstrap(logs, draw).T)):
                holds = (low <= 0) & (high >= 0)
                line[name] = [float(holds.mean()), float(np.expm1(high - low).mean())]
            found.append(line)
    return found


def _bootstrap(logs: NDArray[np.float64], draw: np.random.Generator) -> NDArray[np.float64]:
    """The percentile interval of the median (runs, 2) of each run's rounds (runs, rounds)."""
    picks = draw.integers(logs.shape[1], size=(RESAMPLES, logs.shape[1]))
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    medians = (np.median(one[picks], axis=1) for one in logs)
    return np.array([np.quantile(found, tails) for found in medians])
