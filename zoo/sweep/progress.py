"""What is shown while a run goes on: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from zoo.config.metric_description import MetricDescription
from zoo.execution.base import Ended, Event, Notice, Result, Started
from zoo.execution.base import Progress as JobProgress
from zoo.sweep.time_left import TimeLeft

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


class Plain(Progress):
    """One line for each job that ended, and for each notice."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.name, self.total, self.number = "", 0, 0
        self.left, self.said = TimeLeft(), False

    def notice(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def phase(self, name: str, total: int) -> None:
        self.name, self.total, self.number = name, total, 0
        self.left.begin(total)
        self.said = False
        if total:
            self.notice(f"{name}: {total} to run")

    def expect(self, seconds: float) -> None:
        self.left.later = seconds

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        if isinstance(event, Notice):
            self.notice(event.text)
        if isinstance(event, JobProgress):
            self.left.advance(event.job.name, event.step.done / event.step.total)
            self._first_estimate()
        if not isinstance(event, Ended):
            return
        self.left.advance(event.job.name, 1.0)
        self.number += 1
        left = str(self.left) if self.left.clock() - self.left.started > SOON else ""
        node = f" @{event.node}" if event.node else ""
        self.notice(
            f"{self.name} {self.number}/{self.total} {event.job.name}: "
            f"{summary(event.result, metrics)} [{event.result.seconds:.1f} s]{node}"
            f"{f', {left}' if left else ''}"
        )

    def _first_estimate(self) -> None:
        """Say, once in a phase that is not short, how long it takes in all."""
        if not self.said and self.left.clock() - self.left.started > SOON and str(self.left):
            self.said = True
            self.notice(f"{self.name}: {self.left}, from the first steps")


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


class Live(Progress):
    """A bar over all jobs and the time left; epoch and loss of those that run."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            ProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.progress import Progress as Bars
        from rich.text import Text

        left = TimeLeft()

        class LeftColumn(ProgressColumn):
            """The estimate for all jobs. rich's own knows only the last 30 seconds."""

            def render(self, task: Any) -> Text:
                return Text("" if task.fields.get("part") else str(left))

        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            LeftColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.left = left
        self.bars.start()
        self.whole: Any = None
        self.running: dict[str, Any] = {}  # job name to its bar
        self.share: dict[str, float] = {}  # job name to the share of it that is done

    def notice(self, text: str) -> None:
        self.bars.console.print(text, markup=False, highlight=False)

    def phase(self, name: str, total: int) -> None:
        self._clear()
        if total:
            self.left.begin(total)
            self.whole = self.bars.add_task(name, total=total)

    def expect(self, seconds: float) -> None:
        self.left.later = seconds

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        if isinstance(event, Notice):
            self.notice(event.text)
            return
        name = event.job.name
        if isinstance(event, Started):
            self.running[name] = self.bars.add_task(f"  {name}", total=None, part=True)
            self.share[name] = 0.0
        elif isinstance(event, JobProgress):
            step = event.step
            loss = "" if step.loss is None else f"  loss {step.loss:.3f}"
            if name in self.running:
                self.bars.update(
                    self.running[name],
                    completed=step.done,
                    total=step.total,
                    description=f"  {name}{loss}",
                )
            self._advance(name, step.done / step.total)
        else:
            self.share.setdefault(name, 0.0)
            self._advance(name, 1.0)
            if name in self.running:
                self.bars.remove_task(self.running.pop(name))
            del self.share[name]
            self.notice(f"{name}: {summary(event.result, metrics)}")

    def close(self) -> None:
        self._clear()
        self.bars.stop()

    def _advance(self, name: str, share: float) -> None:
        if self.whole is not None:
            self.bars.advance(self.whole, share - self.share[name])
        self.share[name] = share
        self.left.advance(name, share)

    def _clear(self) -> None:
        for task in [*self.running.values(), *([self.whole] if self.whole is not None else [])]:
            self.bars.remove_task(task)
        self.running, self.share, self.whole = {}, {}, None


def for_stream(stream: TextIO) -> Progress:
    """What suits a stream: live on a terminal, plain lines elsewhere."""
    return Live() if stream.isatty() else Plain(stream)
