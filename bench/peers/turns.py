"""Steps timed in turns within one process, and the ratios of their times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from zoo.report.stats.intervals import t_half

Step = Callable[[int], object]  # takes the number of the step within its turn
Times = dict[str, np.ndarray]  # name to seconds (rounds, steps)
WARM = 0.1  # a step is warm if it took as long as the one before, within this share
MOST_WARM_UP_STEPS = 3
LONG = 0.5  # seconds; a step that takes this long needs no second warm-up step
LEAST_ROUNDS = 5  # of a comparison that is published


def time_in_turns(
    steps: Mapping[str, Step],
    *,
    rounds: int,
    count: int = 1,
    warm_up: bool = True,
    synchronise: Callable[[], object] = lambda: None,
    before: Callable[[str], object] = lambda _: None,
) -> Times:
    """Seconds (rounds, count) of each named step, called with 0 to count - 1 in each turn.

    Every round gives each name a turn, in an order that rotates. A turn begins with warm-up steps
    that are not counted, because caches have gone cold while the others ran. before: called with
    the name when its turn begins.
    """
    names = list(steps)
    seconds = {name: np.zeros((rounds, count)) for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            before(name)
            if warm_up:
                _warm_up(steps[name], synchronise)
            for index in range(count):
                seconds[name][number, index] = _seconds(steps[name], index, synchronise)
    return seconds


def _warm_up(step: Step, synchronise: Callable[[], object]) -> None:
    """Step 0 until two calls in a row take the same time, at most MOST_WARM_UP_STEPS times."""
    before = _seconds(step, 0, synchronise)
    if before > LONG:
        return
    for _ in range(MOST_WARM_UP_STEPS - 1):
        now = _seconds(step, 0, synchronise)
        if abs(now - before) < WARM * before:
            return
        before = now


def _seconds(step: Step, index: int, synchronise: Callable[[], object]) -> float:
    synchronise()
    start = time.perf_counter()
    step(index)
    synchronise()
    return time.perf_counter() - start


@dataclass(frozen=True)
class Ratio:
    """A geometric mean over rounds, and its 95% interval; None where there are too few rounds."""

    ratio: float
    low: float | None = None
    high: float | None = None


def ratio(above: np.ndarray, below: np.ndarray, *, summed: bool = False) -> Ratio:
    """Times ``above`` divided by times ``below``, both (rounds, steps).

    A round's ratio is the median over its steps, each divided by the same step of the other side,
    so that one slow step does not change it. summed: the ratio of the round's sums, where steps
    differ in size.
    """
    if summed:
        return interval(above.sum(axis=1) / below.sum(axis=1))
    return interval(np.median(above / below, axis=1))


def interval(values: np.ndarray) -> Ratio:
    """The geometric mean of one positive value per round, and the t-interval of its logarithm.

    No interval of a single round. A bootstrap of so few values is far too narrow: how often both
    hold the true ratio is simulated (``bench.simulate``).
    """
    logs = np.log(values)
    mean = float(logs.mean())
    if len(logs) < 2:
        return Ratio(math.exp(mean))
    half = t_half(float(logs.std(ddof=1)), len(logs))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
