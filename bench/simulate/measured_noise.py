"""The noise of a published run, to hold that of the simulated ones against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zoo.report.rows import Row
from zoo.report.stats.scores import scores_of


@dataclass(frozen=True)
class Noise:
    """Standard deviations over seeds of the score of a cell.

    residual: of one cell and seed, beyond what the seed does to all cells. shared: of what a seed
    does to all cells alike. disagreements: test examples on which two cells disagree, in the mean.
    """

    residual: float
    shared: float
    disagreements: float


def noise_of(rows: Sequence[Row]) -> Noise:
    """From the two-way analysis of variance of cells and seeds, without interaction.

    Every cell must have the same seeds, and the records its wrong examples. Cells that are one
    function count once, baselines not at all.
    """
    cells = [row for row in rows if not row.baseline]
    scores = scores_of(cells)
    kept = np.flatnonzero(scores.duplicates() == np.arange(len(cells)))
    values, both_wrong = scores.values[kept], scores.both_wrong[:, kept][:, :, kept]
    count, seeds = values.shape
    by_cell, by_seed = values.mean(axis=1, keepdims=True), values.mean(axis=0)
    residuals = values - by_cell - by_seed + values.mean()
    variance = float((residuals**2).sum()) / ((count - 1) * (seeds - 1))
    shared = float(by_seed.var(ddof=1)) - variance / count
    wrong = np.einsum("srr->sr", both_wrong)  # (S, R)
    disputed = wrong[:, :, None] + wrong[:, None, :] - 2 * both_wrong
    pairs = disputed[:, *np.triu_indices(count, 1)]
    return Noise(math.sqrt(variance), math.sqrt(max(shared, 0.0)), float(pairs.mean()))
