"""Trackers: each training is shown to them once it has ended. No torch here."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.errors import one_line
from zoo.execution.base import Ended, Event, Result, TrainJob
from zoo.registry import Choice
from zoo.registry.catalog import split_list
from zoo.registry.cell import model_name, names_of
from zoo.registry.loading import Zoo
from zoo.sweep.progress import Progress

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
        self.choice = choice
        self._failure: str | None = None
        self._begun: float | None = None  # when it began what it does now
        self._runs: queue.Queue[TrackedRun | None] = queue.Queue()
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
        self._runs.put(run)

    def wait(self) -> None:
        """Wait until it has shown every run, or has failed."""
        while self._runs.unfinished_tasks and self.failure is None:
            time.sleep(0.02)

    def close(self) -> None:
        """End the thread, once it has shown every run."""
        self._runs.put(None)

    def _show_all(self) -> None:
        """Run in the thread: show what comes until it is closed, or the tracker fails."""
        tracker: Tracker | None = None
        try:
            while (run := self._runs.get()) is not None:
                self._begun = time.monotonic()
                with contextlib.suppress(OSError):  # a tracker that writes no files needs none
                    run.directory.mkdir(parents=True, exist_ok=True)
                tracker = tracker or self.choice.build()
                tracker.show(run)
                self._begun = None
                self._runs.task_done()
        except ModuleNotFoundError as error:
            self._failure = f"{error.name} is not installed"
        except BaseException as error:  # noqa: BLE001 - it may even call sys.exit
            self._failure = one_line(error)


def trackers_named(names: str | None, zoo: Zoo) -> dict[str, Choice]:
    """The trackers of a comma list, by name; ZooError for a name that none has."""
    texts = [] if names is None else split_list(names, "--track ") or [""]
    return {str(c): c for c in (zoo.registry.choose("tracker", text) for text in texts)}


class TrackedProgress(Progress):
    """Shows everything in another progress, and each training that has ended to trackers.

    names: a comma list of trackers; None: none. A tracker that fails is left out from then on, with
    one warning. Before costs are measured the trackers finish. Raises ZooError for a name that no
    tracker has.
    """

    def __init__(self, shown: Progress, names: str | None, zoo: Zoo) -> None:
        self.shown, self.phase_name = shown, ""
        self.directory, self.config = Path(), dict[str, Any]()
        choices = trackers_named(names, zoo)
        self.trackers = {name: TrackerThread(choice) for name, choice in choices.items()}

    def notice(self, text: str) -> None:
        self.shown.notice(text)

    def begins(self, directory: Path, config: Mapping[str, Any]) -> None:
        self.directory, self.config = directory.absolute(), dict(config)
        self.shown.begins(directory, config)

    def phase(self, name: str, total: int) -> None:
        self.phase_name = name
        if name == "cost" and total:
            self._leave_out(wait=True)
        self.shown.phase(name, total)

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        self.shown.event(event, metrics)
        if isinstance(event, Ended) and isinstance(event.job, TrainJob):
            for tracker in self.trackers.values():
                tracker.show(self._run(event.job, event.result))
        self._leave_out()

    def close(self) -> None:
        try:
            self._leave_out(wait=True)
        finally:
            for tracker in self.trackers.values():
                tracker.close()
            self.shown.close()

    def _run(self, job: TrainJob, result: Result) -> TrackedRun:
        setup = job.setup
        return TrackedRun(
            name=f"{model_name(job.model)} seed {job.seed}",
            group=self.directory.name,
            directory=self.directory,
            config={
                "phase": self.phase_name,
                "task": setup.task,
                **setup.task_options,
                "data": self.config["data"]["name"],
                **names_of(job.model),
                "seed": job.seed,
                **setup.sizes.model_dump(),
                **setup.training.model_dump(),
                **setup.execution.model_dump(),
            },
            status=result.status,
            curve=[numbers({**entry, "number": None}) for entry in result.curve],
            values=numbers(result.metrics),
        )

    def _leave_out(self, *, wait: bool = False) -> None:
        """Leave out trackers that failed, with a line each. wait: until all have shown all."""
        for name, tracker in list(self.trackers.items()):
            if wait:
                tracker.wait()
            if tracker.failure:
                del self.trackers[name]
                self.shown.notice(
                    f"warning: tracker '{name}' is left out: {tracker.failure}; the run goes on "
                    "without it"
                )


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Those of these values that are one finite number each."""
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
