"""Comparisons with other libraries: how often intervals of a few rounds hold the true ratio.

Both sides of a round are measured as in ``rounds``. The t-interval is the one that published
comparisons have; a bootstrap of the median over rounds is what they had before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.turns import interval
from bench.simulate.rounds import noisy_logs

ROUNDS = (2, 3, 5, 10)
RESAMPLES = 999
LEVEL = 0.95


def lines_of_comparisons(runs: int, seed: int) -> list[dict[str, Any]]:
    """One line for each number of rounds: coverage and mean width of both intervals, as shares."""
    found = []
    for rounds in ROUNDS:
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
