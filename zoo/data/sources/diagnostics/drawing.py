"""Seeded draws that are the same on every machine, and what all generated data sets share."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

from zoo.data.sources.corpus import TEST, TRAIN, VALIDATION, Examples
from zoo.errors import ZooError

T = TypeVar("T")

SOURCE = "built-in diagnostic"
CONTROLS = ("positive", "negative")
HELD_OUT = 500  # validation texts


class Draw:
    """Seeded draws that are the same on every machine and with every version of Python."""

    def __init__(self, seed: int) -> None:
        # Of all its methods only random() is promised to stay the same from Python to Python.
        self.random = random.Random(seed).random

    def below(self, limit: int) -> int:
        """An integer from 0 to limit - 1."""
        return int(self.random() * limit)

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.below(len(choices))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a drawn order."""
        return sorted(items, key=lambda _: self.random())

    def sample(self, items: Sequence[T], number: int) -> list[T]:
        """So many different items, in a drawn order."""
        return self.shuffled(items)[:number]


def need(name: str, **sizes: tuple[int, int]) -> None:
    """ZooError unless each size of a data set, the first number, is at least the second."""
    for size, (number, least) in sizes.items():
        if number < least:
            raise ZooError(f"{name} needs {size} >= {least}, not {number}")


def divided(texts: list[str], targets: list[Any], train: int, test: int) -> dict[str, Examples]:
    """The first so many texts for training, the next for the test; others, if any, are held out."""
    bounds = {TRAIN: (0, train), TEST: (train, train + test), VALIDATION: (train + test, None)}
    parts = {name: slice(*ends) for name, ends in bounds.items()}
    splits = {name: Examples(texts[part], targets[part]) for name, part in parts.items()}
    return {name: split for name, split in splits.items() if split.texts}
