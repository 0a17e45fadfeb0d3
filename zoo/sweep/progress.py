"""What is shown while a run goes on: a bar on a terminal and in a notebook, or plain lines."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from zoo.config.metric_description import MetricDescription
from zoo.execution.base import Ended, Event, Notice, Result, Started
from zoo.execution.base import Progress as JobProgress

SOON = 30.0  # seconds; what takes less is not estimated on plain lines


class Progress:
    """What a run reports as it goes; this shows nothing."""

    def notice(self, text: str) -> None:
        """Something worth a line: which data are used, what was repaired."""

    def begins(self, directory: Path, config: Mapping[str, Any]) -> None:
        """The work on one data set begins: where its results go, and the config of its records."""

    def phase(self, name: str, total: int) -> None:
        """A phase of so many jobs begins."""

    def expect(self, seconds: float) -> None:
        """What comes after the jobs of this phase, in seconds, as far as it is known."""

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        """A job has started, come further or ended, or something of a cluster has changed.

        metrics: of the task, the main one first.
        """

    def close(self) -> None:
        """The run is over."""


class Silent(Progress):
    """Shows nothing."""


class Shown(Progress):
    """Notices, and for each phase either one bar or a line for each job that ended.

    bars: whether there is a bar: jobs done, the time left, and how far the last job has come.
    """

    def __init__(self, stream: TextIO | None = None, *, bars: bool = False) -> None:
        self.stream = stream or sys.stderr
        self.make: Any = _tqdm() if bars else None
        self.bar: Any = None
        self.name, self.total, self.number, self.said = "", 0, 0, False
        self.left = TimeLeft()

    def notice(self, text: str) -> None:
        if self.make is None:
            print(text, file=self.stream, flush=True)
        else:
            self.make.write(text, file=self.stream)

    def phase(self, name: str, total: int) -> None:
        self.close()
        self.name, self.total, self.number, self.said = name, total, 0, False
        self.left.begin(total)
        if total and self.make is None:
            self.notice(f"{name}: {total} to run")
        elif total:
            layout = "{desc}: {bar} {n:.1f}/{total} [{elapsed}{postfix}]"
            self.bar = self.make(
                total=total, desc=name, bar_format=layout, file=self.stream, dynamic_ncols=True
            )

    def expect(self, seconds: float) -> None:
        self.left.later = seconds

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        if isinstance(event, Notice):
            self.notice(event.text)
        elif isinstance(event, Started):
            self._show(event.job.name)
        elif isinstance(event, JobProgress):
            step = event.step
            self.left.advance(event.job.name, step.done / step.total)
            loss = "" if step.loss is None else f" loss {step.loss:.3f}"
            self._show(f"{event.job.name} {step.done:g}/{step.total}{loss}")
            self._first_estimate()
        elif isinstance(event, Ended):
            self.left.advance(event.job.name, 1.0)
            self.number += 1
            left = str(self.left) if self.left.clock() - self.left.started > SOON else ""
            node = f" @{event.node}" if event.node else ""
            how = f"{event.job.name}: {summary(event.result, metrics)}"
            if self.make is None or self.stream.isatty():  # in a notebook the bar says it
                self.notice(
                    f"{self.name} {self.number}/{self.total} {how} "
                    f"[{event.result.seconds:.1f} s]{node}{f', {left}' if left else ''}"
                )
            self._show(how)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None

    def _show(self, how: str) -> None:
        """Draw the bar again. how: how far the last job has come."""
        if self.bar is not None:
            self.bar.n = sum(self.left.shares.values())
            self.bar.set_postfix_str(", ".join(filter(None, [str(self.left), how])))

    def _first_estimate(self) -> None:
        """Say, once in a phase that is not short, how long it takes in all."""
        late = self.left.clock() - self.left.started > SOON
        if self.bar is None and not self.said and late and str(self.left):
            self.said = True
            self.notice(f"{self.name}: {self.left}, from the first steps")


def _tqdm() -> Any:
    """The bar that suits a notebook or a terminal."""
    from tqdm import TqdmWarning

    with warnings.catch_warnings():  # it says that ipywidgets would look better
        warnings.simplefilter("ignore", TqdmWarning)
        from tqdm.auto import tqdm
    return tqdm


def for_stream(stream: TextIO) -> Progress:
    """A bar on a terminal, plain lines elsewhere."""
    return Shown(stream, bars=stream.isatty())


def for_python(progress: bool | Progress | None) -> Progress:
    """What a function called from Python reports to.

    None: bars in a notebook and on a terminal, nothing elsewhere. True, False: bars, nothing.
    """
    if isinstance(progress, Progress):
        return progress
    if progress is None:
        notebook = "ipykernel" in sys.modules and "IPython" in sys.modules
        progress = notebook or (sys.stderr is not None and sys.stderr.isatty())
    return Shown(bars=True) if progress else Silent()


def summary(result: Result, metrics: Sequence[MetricDescription]) -> str:
    """How a job ended, in a few words: its score, or the failures."""
    if result.status != "ok":
        return f"{result.status}: {result.reason}"
    bad = [member for member in result.members if member.status != "ok"]
    if bad:
        return f"{len(bad)} of {len(result.members)} failed: {bad[0].status}: {bad[0].reason}"
    if metrics and metrics[0].name in result.metrics:
        return f"{metrics[0].label} {metrics[0].format(result.metrics[metrics[0].name])}"
    return "ok"


class TimeLeft:
    """How long a phase still takes; every piece of progress since it began counts.

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
