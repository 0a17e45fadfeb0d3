"""Runs of Trackio."""

from __future__ import annotations

from zoo.tracking import TrackedRun, Tracker


class Trackio(Tracker):
    """``trackio show`` shows them. space: a Hugging Face Space that gets them instead."""

    def __init__(self, project: str = "encoder-zoo", space: str = "") -> None:
        self.project, self.space = project, space

    def show(self, run: TrackedRun) -> None:
        import trackio

        shown = trackio.init(
            project=self.project,
            name=f"{run.group} {run.name}",  # unlike a group, it is shown in every view
            group=run.group,
            space_id=self.space or None,
            config=dict(run.config),
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        for epoch, values in enumerate(run.curve, start=1):
            shown.log(dict(values), step=epoch)
        if run.values:
            shown.log(dict(run.values))
        shown.finish()
