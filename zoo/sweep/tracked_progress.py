"""Progress that trackers are shown as well: a run for each training, and one for each cost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.execution.base import CostJob, Ended, Event, Job, ModelSpec, Result, Started, TrainJob
from zoo.execution.base import Progress as JobProgress
from zoo.registry.catalog import split_list
from zoo.registry.loading import Zoo
from zoo.sweep.progress import Progress
from zoo.tracking import TrackedRun, TrackerProcess

PATIENCE = 60.0  # seconds that trackers may take to end what they were given
COST = "cost"  # the phase in which nothing else may run on a machine


def find_trackers(names: str | None, zoo: Zoo) -> list[TrackerProcess]:
    """The trackers of a comma list; ZooError for a name that none has."""
    if names is None:
        return []
    texts = split_list(names, "--track ") or [""]
    chosen = dict.fromkeys(str(zoo.registry.choose("tracker", text)) for text in texts)
    return [TrackerProcess(name, zoo.files) for name in chosen]


class TrackedProgress(Progress):
    """Shows everything in another progress too.

    A tracker that fails is left out from then on, with one warning. During cost measurements
    trackers rest, and are given what they missed afterwards.
    """

    def __init__(self, shown: Progress, trackers: Sequence[TrackerProcess]) -> None:
        self.shown, self.trackers = shown, list(trackers)
        self.directory, self.config = Path(), dict[str, Any]()
        self.phase_name, self.resting = "", False
        self.running: set[str] = set()
        self.measured: set[str] = set()  # models whose cost has been shown
        self.held: list[tuple[Any, ...]] = []

    def notice(self, text: str) -> None:
        self.shown.notice(text)

    def begins(self, directory: Path, config: Mapping[str, Any]) -> None:
        self.directory, self.config = directory.absolute(), dict(config)
        self.measured.clear()
        self.shown.begins(directory, config)

    def phase(self, name: str, total: int) -> None:
        self.phase_name, self.resting = name, name == COST and total > 0
        if self.resting:
            self._each(TrackerProcess.wait)
            self._warn()
        else:
            self._release()
        self.shown.phase(name, total)

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        self.shown.event(event, metrics)
        if isinstance(event, Started) and isinstance(event.job, TrainJob):
            self._start(event.job.key, event.job, event.job.model, f"seed {event.job.seed}")
        elif isinstance(event, JobProgress) and event.job.key in self.running:
            if event.step.loss is not None and math.isfinite(event.step.loss):
                self._send("log", event.job.key, {"loss": event.step.loss}, int(event.step.done))
        elif isinstance(event, Ended):
            self._ended(event)
        self._warn()

    def close(self) -> None:
        try:
            for key in self.running:
                self._send("end", key, "interrupted", {})
            self._release()
            self._each(TrackerProcess.close)
            self._warn()
        finally:
            self.shown.close()

    def _ended(self, event: Ended) -> None:
        result = event.result
        if event.job.key in self.running:
            self._end(event.job.key, result)
        if isinstance(event.job, CostJob):
            for member, own in event.job.results(result):
                name = member.model.name
                if name in self.measured:  # the reference is in every group, and has a twin
                    continue
                self.measured.add(name)
                self._start(f"{event.job.key}/{name}", event.job, member.model, COST)
                self._end(f"{event.job.key}/{name}", own)

    def _start(self, key: str, job: Job, model: ModelSpec, what: str) -> None:
        if key in self.running:  # begun again after its machine was lost
            return
        self.running.add(key)
        config = {
            "phase": self.phase_name,
            "task": job.setup.task,
            **job.setup.task_options,
            "data": self.config["data"]["name"],
            **model.cell,
            **({"baseline": model.baseline} if model.baseline else {}),
            **({"seed": job.seed} if isinstance(job, TrainJob) else {}),
            **job.setup.sizes.model_dump(),
            **job.setup.training.model_dump(),
            **self.config["execution"],
            "device": job.setup.execution.device,
        }
        name = f"{model.name} {what}"
        self._send("start", key, TrackedRun(name, self.directory.name, self.directory, config))

    def _end(self, key: str, result: Result) -> None:
        self.running.remove(key)
        self._send("end", key, result.status, numbers(result.metrics))

    def _send(self, *message: Any) -> None:
        if self.resting:
            self.held.append(message)
            return
        for tracker in self.trackers:
            tracker.send(*message)

    def _release(self) -> None:
        """Give the trackers what was held back."""
        self.resting = False
        for message in self.held:
            self._send(*message)
        self.held.clear()

    def _each(self, work: Callable[[TrackerProcess, float], None]) -> None:
        """Do it with every tracker; all of them share the seconds of ``PATIENCE``."""
        deadline = time.monotonic() + PATIENCE
        for tracker in self.trackers:
            work(tracker, max(0.0, deadline - time.monotonic()))

    def _warn(self) -> None:
        """One line for each tracker that has failed, which is left out from now on."""
        for tracker in [tracker for tracker in self.trackers if tracker.failure]:
            self.trackers.remove(tracker)
            tracker.close(0)
            self.shown.notice(
                f"warning: tracker '{tracker.name}' is left out: {tracker.failure}; "
                "the run goes on without it"
            )


def numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Those of a result's metrics that are one finite number each."""
    return {
        name: float(value)
        for name, value in metrics.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
