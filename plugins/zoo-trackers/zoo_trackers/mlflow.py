"""Runs of MLflow."""

from __future__ import annotations

import time
from collections.abc import Mapping

from zoo.tracking import TrackedRun, Tracker

LONGEST = 500  # characters of a parameter's value, in every store of MLflow


class MLflow(Tracker):
    """Writes where MLflow itself would: ``MLFLOW_TRACKING_URI``, or its database in this folder."""

    def __init__(self, experiment: str = "encoder-zoo") -> None:
        self.experiment = experiment

    def start(self, run: TrackedRun) -> None:
        from mlflow.tracking import MlflowClient

        # A client and not mlflow.start_run, which keeps one run at a time.
        self.client = MlflowClient()
        found = self.client.get_experiment_by_name(self.experiment)
        number = found.experiment_id if found else self.client.create_experiment(self.experiment)
        made = self.client.create_run(number, run_name=run.name, tags={"group": run.group})
        self.run_id: str = made.info.run_id
        for name, value in run.config.items():
            self.client.log_param(self.run_id, name, str(value)[:LONGEST])

    def log(self, values: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, step) for name, value in values.items()]
        self.client.log_batch(self.run_id, metrics)

    def end(self, status: str, values: Mapping[str, float]) -> None:
        self.log(values, step=0)
        self.client.set_tag(self.run_id, "status", status)
        killed = "KILLED" if status == "interrupted" else "FAILED"
        self.client.set_terminated(self.run_id, "FINISHED" if status == "ok" else killed)
