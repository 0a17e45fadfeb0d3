"""The epochs of a training: reported as they go, and saved so that it can go on after any."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from pathlib import Path

from zoo.execution.base import Step
from zoo.training import checkpoint
from zoo.training.trainer import Epoch, Trainer

OFTEN = 5.0  # seconds between two reports of how far an epoch is
Curve = list[dict[str, float]]


def run_epochs(
    trainer: Trainer,
    file: Path,
    done: int,
    total: int,
    evaluate: Callable[[], Mapping[str, float]] = dict,
) -> Generator[Step, None, Curve]:
    """Train from the checkpoint in a file, or from the start, to the end; return the curve.

    Within an epoch that takes long its progress is reported too, so that the time left is known
    before it is over. done: epochs of the job before this training, of so many in total. evaluate:
    called after each epoch, for what else its entry in the curve has. Raises DivergedError as
    ``Trainer.run_epoch`` does.
    """
    curve = checkpoint.restore(file, trainer)
    while not trainer.finished:
        before = done + trainer.epoch
        for part in trainer.epoch_in_parts(OFTEN):
            if not isinstance(part, Epoch):
                yield Step(before + part, total)
                continue
            curve.append({**part.entry, **evaluate()})
            if not trainer.finished:
                checkpoint.save(file, trainer, curve)
            yield Step(done + part.number, total, part.loss)
    return curve
