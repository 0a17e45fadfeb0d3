"""The exponent with which a cost grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

FEWEST = 3


@dataclass(frozen=True)
class Exponent:
    """cost ∝ value^power over the values from ``first`` on, with its 95% interval."""

    power: float
    low: float
    high: float
    first: int
    points: int

    def __str__(self) -> str:
        return f"{self.power:.2f} ({self.low:.2f} to {self.high:.2f})"


def fit(values: Sequence[int], costs: Sequence[float]) -> Exponent | None:
    """Least squares of log cost on log value, over the upper half of the values.

    The lower half is dominated by constant costs: a process's own memory, a step's fixed work.
    Half is rounded up and has at least three points; with fewer points the result is None. The
    interval is Student's t of the slope, with the number of points less two degrees of freedom.
    """
    pairs = sorted((v, c) for v, c in zip(values, costs, strict=True) if c > 0)
    upper = pairs[-max(FEWEST, -(-len(pairs) // 2)) :]
    if len(upper) < FEWEST:
        return None
    logs = np.log(np.array(upper, dtype=float))
    line = stats.linregress(logs[:, 0], logs[:, 1])
    wide = float(stats.t.ppf(0.975, len(upper) - 2) * line.stderr)
    slope = float(line.slope)
    return Exponent(slope, slope - wide, slope + wide, upper[0][0], len(upper))
