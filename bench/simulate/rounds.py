"""Intervals of speeds from simulated rounds: how often they hold the true ratio.

In each round the log of a model's time is off by noise of its own; with all the noise of a ratio
in ``noise``, a quarter of whose square is of rounds in which something disturbed the model.
Cost measurements end when intervals are narrow. Comparisons with other libraries have a few rounds;
the t-interval is the published one, and a bootstrap of the median is what they had before.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.turns import interval
from zoo.measure.round_ratios import LEAST_ROUNDS, MOST_ROUNDS, PHASES, narrow_enough
from zoo.report.stats.intervals import LEVEL, t_half

COMPARED = (2, 3, 5, 10)  # rounds of comparisons
RESAMPLES = 999
DISTURBED = 0.05  # share of the measurements of one model in one round


@dataclass(frozen=True)
class Measurement:
    """models: besides the reference. noise: standard deviation of a round's log ratio."""

    models: int
    noise: float


def lines_of_rounds(runs: int, seed: int) -> list[dict[str, Any]]:
    """One line for each measurement: coverage of its intervals, and the rounds it takes."""
    found = []
    for models in (1, 2, 7):
        for number, noise in enumerate((0.005, 0.01, 0.02, 0.03, 0.05, 0.1)):
            one = Measurement(models, noise)
            covered, rounds = _measured(one, runs, np.random.default_rng([seed, models, number]))
            found.append(
                {"shows": "rounds", **asdict(one), "covered": covered, "rounds": rounds}
                | {"runs": runs}
            )
    return found


def _measured(one: Measurement, runs: int, draw: np.random.Generator) -> tuple[float, float]:
    """The share of intervals that hold the true ratio, which is 1, and the mean rounds."""
    covered, used = 0.0, 0
    for _ in range(runs):
        shape = (one.models + 1, len(PHASES), MOST_ROUNDS)
        times = noisy_logs(one.noise, shape, draw)
        ratios = (times[1:] - times[0]).reshape(-1, MOST_ROUNDS)
        for count in range(LEAST_ROUNDS, MOST_ROUNDS + 1):
            if narrow_enough(ratios[:, :count]):
                break
        ratios = ratios[:, :count]
        halves = np.array([t_half(float(logs.std(ddof=1)), count) for logs in ratios])
        covered += float((np.abs(ratios.mean(axis=1)) <= halves).mean())
        used += count
    return covered / runs, used / runs


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
