"""Event files for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.tracking import TrackedRun, Tracker


class TensorBoard(Tracker):
    """``tensorboard --logdir DIR`` shows the curves, and the results in its tab HParams."""

    def start(self, run: TrackedRun) -> None:
        from torch.utils.tensorboard import SummaryWriter

        place = run.directory / "tensorboard" / run.config["phase"] / run.name.replace("/", "-")
        self.writer: Any = SummaryWriter(str(place), flush_secs=10)
        self.config = dict(run.config)

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def end(self, status: str, values: Mapping[str, float]) -> None:
        # "." is the writer's own folder; by default there would be a run of its own.
        self.writer.add_hparams({**self.config, "status": status}, dict(values), run_name=".")
        self.writer.close()
