"""An epoch of a job, with reports of how far it is."""

from __future__ import annotations

from collections.abc import Generator

from zoo.execution.base import Step
from zoo.training.trainer import Epoch, Trainer

OFTEN = 5.0  # seconds between two reports of how far an epoch is


def run_epoch(trainer: Trainer, done: int, total: int) -> Generator[Step, None, Epoch]:
    """Train for one epoch, and yield how far it has come where it takes long.

    So that the time left is known before the first long epoch is over. done: epochs of the job
    before this one, of so many in total. Raises DivergedError as ``Trainer.run_epoch`` does.
    """
    for part in trainer.epoch_in_parts(OFTEN):
        if isinstance(part, Epoch):
            return part
        yield Step(done + part, total)
    raise AssertionError("an epoch comes last")
