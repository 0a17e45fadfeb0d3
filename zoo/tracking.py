"""The contract of a tracker, and the thread that one works in. No torch here."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.registry import Choice
from zoo.registry.kinds import to_install
from zoo.registry.plugins import described

PATIENCE = 60.0  # seconds that a tracker may take for one run


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker shows as one run: the training of a model with a seed, once it has ended.

    name: such as ``fused+rope seed 0``. group: of all runs of one command on one data set.
    directory: for the files of a tracker that writes any; ``zoo bench`` writes its results there
    too. config: task, data, components, sizes and settings by the names of their options, and
    ``phase``: train or tune; plain values. status: ``ok``, or how the job failed (oom, timeout,
    crashed, diverged, lost). curve: numbers by name, after each epoch. values: the results; empty
    where there are none.
    """

    name: str
    group: str
    directory: Path
    config: Mapping[str, Any]
    status: str = "ok"
    curve: Sequence[Mapping[str, float]] = ()
    values: Mapping[str, float] = field(default_factory=dict)


class Tracker(ABC):
    """Shows runs. Registered as ``register("tracker", name, factory, ...)``.

    One is built for a command, with its registered parameters. It works in a thread of its own, so
    that it may raise, or take long.
    """

    @abstractmethod
    def show(self, run: TrackedRun) -> None:
        """Show one run that has ended."""


class TrackerThread:
    """A tracker in a thread of this process. One that fails, or takes too long, does no more."""

    def __init__(self, choice: Choice) -> None:
        self.name = str(choice)
        self._choice = choice
        self._failure: str | None = None
        self._begun: float | None = None  # when it began what it does now
        self._work: queue.SimpleQueue[TrackedRun | threading.Event] = queue.SimpleQueue()
        # A daemon: the process does not wait for a tracker that hangs.
        threading.Thread(target=self._show_all, daemon=True).start()

    @property
    def failure(self) -> str | None:
        """Why it is left out; None while it works."""
        if self._begun is not None and time.monotonic() - self._begun > PATIENCE:
            self._failure = self._failure or f"it took more than {PATIENCE:g} s for one run"
        return self._failure

    def show(self, run: TrackedRun) -> None:
        """Have it show a run, after those before; returns at once."""
        self._work.put(run)

    def wait(self) -> None:
        """Wait until it has shown every run, or has failed."""
        done = threading.Event()
        self._work.put(done)
        while self.failure is None and not done.wait(0.05):
            pass

    def _show_all(self) -> None:
        """Run in the thread: show what comes until the tracker fails."""
        tracker: Tracker | None = None
        try:
            while True:
                work = self._work.get()
                if isinstance(work, threading.Event):
                    work.set()
                    continue
                self._begun = time.monotonic()
                with contextlib.suppress(OSError):  # a tracker that writes no files needs none
                    work.directory.mkdir(parents=True, exist_ok=True)
                tracker = tracker or self._choice.build()
                tracker.show(work)
                self._begun = None
        except ModuleNotFoundError as error:
            install = to_install("tracker", self._choice.component.name)
            self._failure = f"{error.name} is not installed{install and f': {install}'}"
        except BaseException as error:  # noqa: BLE001 - it may even call sys.exit
            self._failure = described(error)
