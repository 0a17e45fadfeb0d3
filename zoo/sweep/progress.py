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


class Progress:
    """What a run reports as it goes; this shows nothing."""

    def notice(self, text: str) -> None:
        """Something worth a line: which data are used, what was repaired."""

    def begins(self, directory: Path, config: Mapping[str, Any]) -> None:
        """The work on one data set begins: where its results go, and the config of its records."""

    def phase(self, name: str, total: int) -> None:
        """A phase of so many jobs begins."""

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
    clock: seconds. The time left is known once two jobs of a phase have ended.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        bars: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stream, self.clock = stream or sys.stderr, clock
        self.make: Any = _tqdm() if bars else None
        self.bar: Any = None
        self.name, self.total, self.ended, self.started = "", 0, 0, clock()
        self.shares: dict[str, float] = {}  # job name to the share of it that is done

    def notice(self, text: str) -> None:
        if self.make is None:
            print(text, file=self.stream, flush=True)
        else:
            self.make.write(text, file=self.stream)

    def phase(self, name: str, total: int) -> None:
        self.close()
        self.name, self.total, self.ended, self.started = name, total, 0, self.clock()
        self.shares = {}
        if total and self.make is None:
            self.notice(f"{name}: {total} to run")
        elif total:
            layout = "{desc}: {bar} {n:.1f}/{total} [{elapsed}{postfix}]"
            self.bar = self.make(
                total=total, desc=name, bar_format=layout, file=self.stream, dynamic_ncols=True
            )

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        if isinstance(event, Notice):
            self.notice(event.text)
        elif isinstance(event, Started):
            self._show(event.job.name)
        elif isinstance(event, JobProgress):
            step = event.step
            self.shares[event.job.name] = step.done / step.total
            loss = "" if step.loss is None else f" loss {step.loss:.3f}"
            self._show(f"{event.job.name} {step.done:g}/{step.total}{loss}")
        elif isinstance(event, Ended):
            self.shares[event.job.name] = 1.0
            self.ended += 1
            node = f" @{event.node}" if event.node else ""
            how = f"{event.job.name}: {summary(event.result, metrics)}"
            if self.make is None or self.stream.isatty():  # in a notebook the bar says it
                seconds = f"[{event.result.seconds:.1f} s]"
                left = f", {left}" if (left := self._left()) else ""
                self.notice(f"{self.name} {self.ended}/{self.total} {how} {seconds}{node}{left}")
            self._show(how)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None

    def _show(self, how: str) -> None:
        """Draw the bar again. how: how far the last job has come."""
        if self.bar is not None:
            self.bar.n = sum(self.shares.values())
            self.bar.set_postfix_str(", ".join(filter(None, [self._left(), how])))

    def _left(self) -> str:
        """The time that the phase still takes, in words; empty where it is not known, or over."""
        if self.ended < 2 or self.ended >= self.total:
            return ""
        each = (self.clock() - self.started) / self.ended
        return f"{about(each * (self.total - self.ended))} left"


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


def about(seconds: float) -> str:
    """A time as a person says it: ``about 40 s``, ``about 12 min``, ``about 2.5 h``."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
