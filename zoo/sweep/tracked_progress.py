"""Progress that shows each training to trackers as well, once it has ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.execution.base import Ended, Event, Result, TrainJob
from zoo.registry.catalog import split_list
from zoo.registry.cell import model_name, names_of
from zoo.registry.loading import Zoo
from zoo.sweep.progress import Progress
from zoo.tracking import TrackedRun, TrackerThread


def find_trackers(names: str | None, zoo: Zoo) -> list[TrackerThread]:
    """The trackers of a comma list; ZooError for a name that none has."""
    if names is None:
        return []
    texts = split_list(names, "--track ") or [""]
    choices = {str(choice): choice for choice in (zoo.registry.choose("tracker", t) for t in texts)}
    return [TrackerThread(choice) for choice in choices.values()]


class TrackedProgress(Progress):
    """Shows everything in another progress, and each training that has ended to trackers.

    A tracker that fails is left out from then on, with one warning. Before costs are measured the
    trackers finish what they have.
    """

    def __init__(self, shown: Progress, trackers: Sequence[TrackerThread]) -> None:
        self.shown, self.trackers = shown, list(trackers)
        self.directory, self.config, self.phase_name = Path(), dict[str, Any](), ""

    def notice(self, text: str) -> None:
        self.shown.notice(text)

    def begins(self, directory: Path, config: Mapping[str, Any]) -> None:
        self.directory, self.config = directory.absolute(), dict(config)
        self.shown.begins(directory, config)

    def phase(self, name: str, total: int) -> None:
        self.phase_name = name
        if name == "cost" and total:
            self._wait()
        self.shown.phase(name, total)

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        self.shown.event(event, metrics)
        if isinstance(event, Ended) and isinstance(event.job, TrainJob):
            run = self._run(event.job, event.result)
            for tracker in self.trackers:
                tracker.show(run)
        self._warn()

    def close(self) -> None:
        try:
            self._wait()
        finally:
            self.shown.close()

    def _run(self, job: TrainJob, result: Result) -> TrackedRun:
        config = {
            "phase": self.phase_name,
            "task": job.setup.task,
            **job.setup.task_options,
            "data": self.config["data"]["name"],
            **names_of(job.model),
            "seed": job.seed,
            **job.setup.sizes.model_dump(),
            **job.setup.training.model_dump(),
            **self.config["execution"],
            "device": job.setup.execution.device,
        }
        return TrackedRun(
            name=f"{model_name(job.model)} seed {job.seed}",
            group=self.directory.name,
            directory=self.directory,
            config=config,
            status=result.status,
            curve=[
                {name: value for name, value in numbers(entry).items() if name != "number"}
                for entry in result.curve
            ],
            values=numbers(result.metrics),
        )

    def _wait(self) -> None:
        for tracker in self.trackers:
            tracker.wait()
        self._warn()

    def _warn(self) -> None:
        """One line for each tracker that has failed, which is left out from now on."""
        for tracker in [tracker for tracker in self.trackers if tracker.failure]:
            self.trackers.remove(tracker)
            self.shown.notice(
                f"warning: tracker '{tracker.name}' is left out: {tracker.failure}; "
                "the run goes on without it"
            )


def numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Those of these metrics that are one finite number each."""
    return {
        name: float(value)
        for name, value in metrics.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
