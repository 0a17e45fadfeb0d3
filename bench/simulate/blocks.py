"""Speeds from simulated blocks: how often intervals hold the true ratio, and what is told apart.

In each block the log of a model's time is off by noise of its own, a quarter of whose square is of
blocks in which something disturbed the model. In each process it is off by what processes differ
by. Blocks, processes and verdicts are those of a cost job (``zoo.execution.cost_job``).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.execution.cost_job import PROCESSES
from zoo.measure.turns import (
    BETWEEN,
    HALF,
    MOST_BLOCKS,
    PHASES,
    Logs,
    narrow_enough,
)
from zoo.report.stats.ratios import Ratio, Session, combined

DISTURBED = 0.05  # share of the turns of one model


@dataclass(frozen=True)
class Measurement:
    """models: besides the reference. ratio: the true one of each. noise: standard deviation of a
    block's log ratio.
    """

    models: int
    ratio: float
    noise: float


def lines_of_blocks(runs: int, seed: int) -> list[dict[str, Any]]:
    """One line for each measurement: what its intervals hold and tell apart, and its blocks."""
    lines = []
    for models in (1, 7):
        for number, ratio in enumerate((1.0, 1.05, 1.1)):
            for noise in (0.007, 0.02, 0.05):
                measurement = Measurement(models, ratio, noise)
                draw = np.random.default_rng([seed, models, number, round(1000 * noise)])
                lines.append(
                    {"shows": "blocks", **asdict(measurement), **_shares(measurement, runs, draw)}
                )
    return lines


def _shares(measurement: Measurement, runs: int, draw: np.random.Generator) -> dict[str, float]:
    """Shares of the ratios of so many runs. told: the two are told apart, whichever is faster."""
    covered, apart, blocks, ratios = 0, 0, 0, 0
    for _ in range(runs):
        for logs in measured(measurement, draw):
            ratio: Ratio = combined([Session(logs)])
            assert ratio.low is not None
            assert ratio.high is not None
            covered += ratio.low <= measurement.ratio <= ratio.high
            apart += ratio.verdict != 0
            blocks += sum(map(len, logs))
            ratios += 1
    shares = {"covered": covered / ratios, "told": apart / ratios, "blocks": blocks / ratios}
    return shares | {"ratios": ratios}


def measured(measurement: Measurement, draw: np.random.Generator) -> list[list[Logs]]:
    """The log ratios of each model and phase: of each process, block by block."""
    earlier: list[list[Logs]] = [[] for _ in range(measurement.models * len(PHASES))]
    for _ in range(PROCESSES):
        logs = _process(measurement, MOST_BLOCKS // PROCESSES, draw)
        count = HALF
        while count < MOST_BLOCKS // PROCESSES and not narrow_enough(
            [[*before, now[:count]] for before, now in zip(earlier, logs, strict=True)],
            PROCESSES,
        ):
            count += 1
        for before, now in zip(earlier, logs, strict=True):
            before.append(now[:count])
    return earlier


def _process(
    measurement: Measurement, blocks: int, draw: np.random.Generator
) -> NDArray[np.float64]:
    """Log ratios (models * phases, blocks), in each of which the same reference has its turn."""
    shape = measurement.models + 1, len(PHASES), blocks
    process = draw.normal(0.0, BETWEEN / np.sqrt(2), (*shape[:2], 1))
    own = process + noisy_logs(measurement.noise, shape, draw)
    logs: NDArray[np.float64] = math.log(measurement.ratio) + own[0] - own[1:]
    return logs.reshape(-1, blocks)


def noisy_logs(
    noise: float, shape: tuple[int, ...], draw: np.random.Generator
) -> NDArray[np.float64]:
    """Logs of times, all of whose truths are 0, such that of two the ratio has this noise."""
    usual = draw.normal(0.0, noise / np.sqrt(2) * np.sqrt(0.75), shape)
    strong = noise / np.sqrt(2) * np.sqrt(0.25 / DISTURBED)
    return usual + (draw.random(shape) < DISTURBED) * draw.normal(0.0, strong, shape)
