"""Runs of Weights & Biases."""

from __future__ import annotations

from zoo.tracking import TrackedRun, Tracker


class WeightsAndBiases(Tracker):
    """Its own environment variables decide where runs go: ``WANDB_MODE=offline``, say."""

    def __init__(self, project: str = "encoder-zoo") -> None:
        self.project = project

    def show(self, run: TrackedRun) -> None:
        import wandb

        shown = wandb.init(
            project=self.project,
            group=run.group,
            name=run.name,
            job_type=run.config["phase"],
            config=dict(run.config),
            dir=run.directory,
            reinit="create_new",  # this process may have a run of its own
            # Of this process alone, which trains nothing.
            settings=wandb.Settings(console="off", x_disable_stats=True),
        )
        for epoch, values in enumerate(run.curve, start=1):
            shown.log(dict(values), step=epoch)
        shown.summary.update({**run.values, "status": run.status})
        shown.finish(exit_code=0 if run.status == "ok" else 1)
