"""Progress within epochs, so that the time left is known before the first long one is over."""

from __future__ import annotations

from collections.abc import Generator

from zoo.execution.base import Step
from zoo.training.trainer import Epoch, Trainer

OFTEN = 5.0  # seconds between two reports


def run_epoch(trainer: Trainer, done: int, total: int) -> Generator[Step, None, Epoch]:
    """Train for one epoch, and yield how far it has come where it takes long.

    done: epochs of the job before this one, of so many in total. Raises DivergedError as
    ``Trainer.run_epoch`` does.
    """
    parts = trainer.epoch_in_parts(OFTEN)
    while True:
        try:
            share = next(parts)
        except StopIteration as end:
            epoch: Epoch = end.value
            return epoch
        yield Step(done + share, total)
