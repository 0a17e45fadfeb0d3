"""The power of the axis that a cost grows with."""

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

    The lower half tells of what is always there: a process' own memory, a step's fixed work. Half
    is rounded up, and at least three points; with fewer there is no exponent. The interval is
    Student's t of the slope, points less two degrees of freedom.
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
