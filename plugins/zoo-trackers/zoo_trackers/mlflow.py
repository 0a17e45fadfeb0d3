"""Runs of MLflow."""

from __future__ import annotations

import time

from zoo.tracking import TrackedRun, Tracker

LONGEST = 500  # characters of a parameter's value, in every store of MLflow


class MLflow(Tracker):
    """Writes where MLflow itself would: ``MLFLOW_TRACKING_URI``, or its database in this folder."""

    def __init__(self, experiment: str = "encoder-zoo") -> None:
        self.experiment = experiment

    def show(self, run: TrackedRun) -> None:
        from mlflow.entities import Metric
        from mlflow.tracking import MlflowClient

        # A client and not mlflow.start_run, which belongs to what else this process may track.
        client = MlflowClient()
        known = client.get_experiment_by_name(self.experiment)
        experiment = known.experiment_id if known else client.create_experiment(self.experiment)
        created = client.create_run(experiment, run_name=run.name, tags={"group": run.group})
        run_id = created.info.run_id
        for name, value in run.config.items():
            client.log_param(run_id, name, str(value)[:LONGEST])
        now = int(time.time() * 1000)
        epochs = enumerate([*run.curve], start=1)
        metrics = [Metric(name, v, now, epoch) for epoch, e in epochs for name, v in e.items()]
        results = [Metric(name, value, now, 0) for name, value in run.values.items()]
        client.log_batch(run_id, [*metrics, *results])
        client.set_tag(run_id, "status", run.status)
        client.set_terminated(run_id, "FINISHED" if run.status == "ok" else "FAILED")
