"""Things timed in turn within one process, piece by piece, and what their ratios are worth."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

Work = Callable[[int], object]
Times = dict[str, np.ndarray]
SETTLED = 0.1  # a step within this share of the one before it is warm
MOST_WARM = 3
LONG = 0.5  # seconds; a step of this length has warmed itself


def race(
    contenders: Mapping[str, Work],
    *,
    rounds: int,
    pieces: int = 1,
    warm: bool = True,
    synchronise: Callable[[], object] = lambda: None,
    before: Callable[[str], object] = lambda _: None,
) -> Times:
    """Seconds (rounds, pieces) of each contender's ``work(piece)``.

    A round gives every contender a turn, in rotating order, and every turn begins with work that
    is not counted: what has waited finds its caches cold and, on some machines, its pages gone.
    before: called with the name of whose turn begins.
    """
    names = list(contenders)
    seconds = {name: np.zeros((rounds, pieces)) for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            work = contenders[name]
            before(name)
            if warm:
                _warm_up(work, synchronise)
            for piece in range(pieces):
                seconds[name][number, piece] = _timed(work, piece, synchronise)
    return seconds


def _warm_up(work: Work, synchronise: Callable[[], object]) -> None:
    """The first piece until two in a row take the same time, or often enough."""
    before = _timed(work, 0, synchronise)
    if before > LONG:
        return
    for _ in range(MOST_WARM - 1):
        now = _timed(work, 0, synchronise)
        if abs(now - before) < SETTLED * before:
            return
        before = now


def _timed(work: Work, piece: int, synchronise: Callable[[], object]) -> float:
    synchronise()
    start = time.perf_counter()
    work(piece)
    synchronise()
    return time.perf_counter() - start


@dataclass(frozen=True)
class Ratio:
    """A median over rounds, and the 95% interval of it."""

    ratio: float
    low: float
    high: float


def ratio(above: np.ndarray, below: np.ndarray, *, summed: bool = False) -> Ratio:
    """How many times as much ``above`` is as ``below``, both (rounds, pieces).

    A round's ratio is the median over its pieces, each held against the same piece, so that a
    stumble over one is none of the round; summed: the ratio of the round's sums, where pieces
    differ in weight.
    """
    if summed:
        return interval(above.sum(axis=1) / below.sum(axis=1))
    return interval(np.median(above / below, axis=1))


def interval(rounds: np.ndarray) -> Ratio:
    """The median of one figure per round, and its 95% bootstrap interval (percentile)."""
    middle = float(np.median(rounds))
    if len(rounds) < 2 or np.ptp(rounds) == 0:
        return Ratio(middle, float(rounds.min()), float(rounds.max()))
    found = stats.bootstrap(
        (rounds,), np.median, method="percentile", n_resamples=2000, rng=np.random.default_rng(0)
    ).confidence_interval
    return Ratio(middle, float(found.low), float(found.high))
