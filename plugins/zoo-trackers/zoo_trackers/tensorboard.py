"""Event files for TensorBoard."""

from __future__ import annotations

from zoo.tracking import TrackedRun, Tracker


class TensorBoard(Tracker):
    """``tensorboard --logdir DIR`` shows the curves, and the results in its tab HParams."""

    def show(self, run: TrackedRun) -> None:
        from torch.utils.tensorboard import SummaryWriter

        place = run.directory / "tensorboard" / run.config["phase"] / run.name.replace("/", "-")
        writer = SummaryWriter(str(place))
        for epoch, values in enumerate(run.curve, start=1):
            for name, value in values.items():
                writer.add_scalar(name, value, epoch)
        config = {**run.config, "status": run.status}
        # "." is the writer's own folder; by default there would be a run of its own.
        writer.add_hparams(config, dict(run.values), run_name=".")
        writer.close()
