"""How long the jobs of a phase still take, from the share of them that is done."""

from __future__ import annotations

import time
from collections.abc import Callable


class TimeLeft:
    """An estimate that every piece of progress since the phase began counts for.

    A job counts as far as it has come, so that there is an estimate before the first one has ended,
    and however rarely jobs report. clock: seconds, for tests. later: seconds of what comes after
    the phase, as far as it is known.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.later = clock, 0.0
        self.begin(0)

    def begin(self, total: int) -> None:
        """A phase of so many jobs begins."""
        self.total, self.started, self.at = total, self.clock(), 0.0
        self.shares: dict[str, float] = {}  # job name to the share of it that is done

    def advance(self, name: str, share: float) -> None:
        """A job has come so far."""
        self.shares[name] = share
        self.at = self.clock()

    def seconds(self) -> float | None:
        """Seconds from now to the end; None as long as nothing is known."""
        done = sum(self.shares.values())
        if not done or self.at == self.started:
            return None
        whole = (self.at - self.started) / done * self.total
        return max(0.0, whole - (self.clock() - self.started))

    def __str__(self) -> str:
        """``about 3 min left``, of the run; empty where it is not known, or the phase is over."""
        seconds = self.seconds()
        if seconds is None or sum(self.shares.values()) >= self.total:
            return ""
        return f"{about(seconds + self.later)} left"


def about(seconds: float) -> str:
    """A time as a person says it: ``about 40 s``, ``about 12 min``, ``about 2.5 h``."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
