"""What is seen while a run goes on: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol, TextIO

from zoo.tasks.score import SCORES


class Progress(Protocol):
    """What the harness tells as it goes."""

    def notice(self, text: str) -> None:
        """Something worth a line: which data, what was repaired."""

    def phase(self, name: str, total: int) -> None:
        """So many trials or probes begin."""

    def started(self, label: str, epochs: int) -> None:
        """One of them begins."""

    def epoch(self, label: str, epoch: int, loss: float) -> None:
        """A trial's epoch ended with this mean loss."""

    def round(self, number: int, total: int) -> None:
        """A round of all probed cells ended."""

    def ended(self, label: str, status: str, reason: str, result: dict[str, Any] | None) -> None:
        """One of them ended."""

    def close(self) -> None:
        """Nothing more will come."""


class Silent:
    """Says nothing."""

    def notice(self, text: str) -> None: ...  # noqa: D102
    def phase(self, name: str, total: int) -> None: ...  # noqa: D102
    def started(self, label: str, epochs: int) -> None: ...  # noqa: D102
    def epoch(self, label: str, epoch: int, loss: float) -> None: ...  # noqa: D102
    def round(self, number: int, total: int) -> None: ...  # noqa: D102
    def ended(  # noqa: D102
        self, label: str, status: str, reason: str, result: dict[str, Any] | None
    ) -> None: ...
    def close(self) -> None: ...  # noqa: D102


class Plain:
    """One line per thing that ended."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.name, self.total, self.number = "", 0, 0
        self.began: dict[str, float] = {}

    def notice(self, text: str) -> None:
        """See Progress."""
        self._line(text)

    def phase(self, name: str, total: int) -> None:
        """See Progress."""
        self.name, self.total, self.number = name, total, 0
        if total:
            self._line(f"{name}: {total} to run")

    def started(self, label: str, epochs: int) -> None:
        """See Progress."""
        self.began[label] = time.monotonic()

    def epoch(self, label: str, epoch: int, loss: float) -> None:
        """See Progress."""

    def round(self, number: int, total: int) -> None:
        """See Progress."""

    def ended(self, label: str, status: str, reason: str, result: dict[str, Any] | None) -> None:
        """See Progress."""
        self.number += 1
        self._line(
            f"{self.name} {self.number}/{self.total} {label}: {told(status, reason, result)} "
            f"[{time.monotonic() - self.began.get(label, time.monotonic()):.1f} s]"
        )

    def close(self) -> None:
        """See Progress."""

    def _line(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


def told(status: str, reason: str, result: dict[str, Any] | None) -> str:
    """How something ended, in a few words."""
    if status != "ok":
        return f"{status}: {reason}"
    metrics = (result or {}).get("metrics", {})
    for score, *_ in SCORES.values():
        if score.name in metrics:
            return f"{score.label} {score.form.format(metrics[score.name])}"
    return "ok"


class Live:
    """A bar over all trials or probes, the epoch and loss of those at work, and the time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bars

        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=Console(stderr=True),
            transient=True,
        )
        self.bars.start()
        self.whole: Any = None
        self.tasks: dict[str, Any] = {}
        self.name, self.done, self.epochs = "", 0, 1

    def notice(self, text: str) -> None:
        """See Progress."""
        self.bars.console.print(text, markup=False, highlight=False)

    def phase(self, name: str, total: int) -> None:
        """See Progress."""
        self._clear()
        self.name, self.done = name, 0
        if total:
            self.whole = self.bars.add_task(name, total=total)

    def started(self, label: str, epochs: int) -> None:
        """See Progress."""
        self.epochs = max(1, epochs)
        again = self.tasks.pop(label, None)  # seeds together that begin anew, one by one
        if again is not None:
            if self.whole is not None:
                before = self.bars.tasks[self.bars.task_ids.index(again)].completed
                self.bars.advance(self.whole, -before / self.epochs)
            self.bars.remove_task(again)
        self.tasks[label] = self.bars.add_task(f"  {label}", total=epochs or None)

    def epoch(self, label: str, epoch: int, loss: float) -> None:
        """See Progress."""
        task = self.tasks[label]
        old = self.bars.tasks[self.bars.task_ids.index(task)].completed
        self.bars.update(task, completed=epoch, description=f"  {label}  loss {loss:.3f}")
        if self.whole is not None:
            self.bars.advance(self.whole, (epoch - old) / self.epochs)

    def round(self, number: int, total: int) -> None:
        """See Progress."""
        for task in self.tasks.values():
            self.bars.update(task, completed=number, total=total)
        if self.whole is not None:
            self.bars.update(self.whole, completed=self.done + len(self.tasks) * number / total)

    def ended(self, label: str, status: str, reason: str, result: dict[str, Any] | None) -> None:
        """See Progress."""
        task = self.tasks.pop(label, None)
        if task is not None:
            completed = self.bars.tasks[self.bars.task_ids.index(task)].completed
            self.bars.remove_task(task)
            if self.whole is not None and self.name == "trials":
                self.bars.advance(self.whole, 1 - completed / self.epochs)
            self.done += 1
        self.notice(f"{label}: {told(status, reason, result)}")

    def close(self) -> None:
        """See Progress."""
        self._clear()
        self.bars.stop()

    def _clear(self) -> None:
        for task in [*self.tasks.values(), *([self.whole] if self.whole is not None else [])]:
            self.bars.remove_task(task)
        self.tasks, self.whole = {}, None


def for_stream(stream: TextIO) -> Progress:
    """What suits a stream: live on a terminal, plain lines otherwise."""
    return Live() if stream.isatty() else Plain(stream)
