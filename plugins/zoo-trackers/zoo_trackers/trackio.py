"""Runs of Trackio."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping

from zoo.tracking import TrackedRun, Tracker


class Trackio(Tracker):
    """``trackio show`` shows them. space: a Hugging Face Space that gets them instead."""

    def __init__(self, project: str = "encoder-zoo", space: str = "") -> None:
        self.project, self.space = project, space

    def start(self, run: TrackedRun) -> None:
        import trackio

        # In a context of its own, because it ends the run that was begun before in the same one.
        self.run = contextvars.Context().run(
            trackio.init,
            project=self.project,
            name=f"{run.group} {run.name}",  # unlike a group, it is shown in every view
            group=run.group,
            space_id=self.space or None,
            config=dict(run.config),
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.run.log(dict(values), step=step)

    def end(self, status: str, values: Mapping[str, float]) -> None:
        if values:
            self.run.log(dict(values))
        self.run.finish()
