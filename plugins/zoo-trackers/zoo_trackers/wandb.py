"""Runs of Weights & Biases."""

from __future__ import annotations

from collections.abc import Mapping

from zoo.tracking import TrackedRun, Tracker


class WeightsAndBiases(Tracker):
    """Its own environment variables decide where runs go: ``WANDB_MODE=offline``, say."""

    def __init__(self, project: str = "encoder-zoo") -> None:
        self.project = project

    def start(self, run: TrackedRun) -> None:
        import wandb

        self.run = wandb.init(
            project=self.project,
            group=run.group,
            name=run.name,
            job_type=run.config["phase"],
            config=dict(run.config),
            dir=run.directory,
            reinit="create_new",  # several runs are open at once
            # Of this process alone, which trains nothing.
            settings=wandb.Settings(console="off", x_disable_stats=True),
        )

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.run.log(dict(values), step=step)

    def end(self, status: str, values: Mapping[str, float]) -> None:
        self.run.summary.update({**values, "status": status})
        self.run.finish(exit_code=0 if status == "ok" else 1)
