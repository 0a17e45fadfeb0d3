"""What is shown while a run goes on: a bar on a terminal and in a notebook, or plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from zoo.config.metric_description import MetricDescription
from zoo.execution.base import Advanced, Ended, Event, Notice, Result


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


class Shown(Progress):
    """Notices, and for each phase a line for each job that ended, and a bar where there are bars.

    bars: whether there is a bar: jobs done, the time left, and how far the last job has come; by
    default on a terminal. Without one the lines have the time left, once two jobs have ended.
    """

    def __init__(self, stream: TextIO | None = None, *, bars: bool | None = None) -> None:
        self.stream = stream or sys.stderr
        self.make: Any = None
        if self.stream.isatty() if bars is None else bars:
            from tqdm.auto import tqdm

            self.make = tqdm
        self.bar: Any = None
        self.name, self.total, self.ended, self.began = "", 0, 0, 0.0

    def notice(self, text: str) -> None:
        if self.make is None:
            print(text, file=self.stream, flush=True)
        else:
            self.make.write(text, file=self.stream)

    def phase(self, name: str, total: int) -> None:
        self.close()
        self.name, self.total, self.ended, self.began = name, total, 0, time.monotonic()
        if total and self.make is None:
            self.notice(f"{name}: {total} to run")
        elif total:
            layout = "{desc}: {bar} {n_fmt}/{total} [{elapsed}<{remaining}{postfix}]"
            self.bar = self.make(
                total=total, desc=name, bar_format=layout, file=self.stream, dynamic_ncols=True
            )

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        if isinstance(event, Notice):
            self.notice(event.text)
            return
        text = name = event.job.name
        if isinstance(event, Advanced):
            step = event.step
            loss = "" if step.loss is None else f" loss {step.loss:.3f}"
            text = f"{name} {step.done:g}/{step.total}{loss}"
        elif isinstance(event, Ended):
            self.ended += 1
            text = f"{name}: {summary(event.result, metrics)}"
            if self.make is None or self.stream.isatty():  # in a notebook the bar says it
                node = f" @{event.node}" if event.node else ""
                done = f"{self.name} {self.ended}/{self.total}"
                self.notice(f"{done} {text} [{event.result.seconds:.1f} s{self._left()}]{node}")
        if self.bar is not None:
            self.bar.n = self.ended
            self.bar.set_postfix_str(text)

    def _left(self) -> str:
        """The time that the phase goes on, as far as its jobs take as long as those that ended."""
        more = self.total - self.ended
        if self.bar is not None or self.ended < 2 or more < 1:
            return ""
        seconds = (time.monotonic() - self.began) * more / self.ended
        return f", {seconds / 60:.0f} min left" if seconds > 90 else f", {seconds:.0f} s left"

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None


def for_python(progress: bool | Progress | None) -> Progress:
    """What a function called from Python reports to.

    None: bars in a notebook and on a terminal, nothing elsewhere. True, False: bars, nothing.
    """
    if isinstance(progress, Progress):
        return progress
    if progress is None:
        progress = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    return Shown(bars=True) if progress else Progress()


def in_notebook() -> bool:
    """Whether this is a notebook's process, which shows the value of a cell as its output."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules


def summary(result: Result, metrics: Sequence[MetricDescription]) -> str:
    """How a job ended, in a few words: its score, or the failures."""
    if result.status != "ok":
        return f"{result.status}: {result.reason}"
    bad = [member for member in result.members if member.status != "ok"]
    if bad:
        return f"{len(bad)} of {len(result.members)} failed: {bad[0].status}: {bad[0].reason}"
    score = "ok"
    if metrics and metrics[0].name in result.metrics:
        score = f"{metrics[0].label} {metrics[0].format(result.metrics[metrics[0].name])}"
    return f"{score}; {result.reason}" if result.reason else score
