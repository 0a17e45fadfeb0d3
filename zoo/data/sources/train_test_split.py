"""Dividing one table into train and test, so that both have the classes in the same proportions."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence

from zoo.errors import ZooError

TEST_SHARE = 0.25


class ScoringNotice(str):
    """A notice of what is held out to be scored: not for a training on all the data."""


class DivisionError(ZooError):
    """Data without a test split are too few to be divided."""


def stratified(
    labels: Sequence[Hashable], seed: int, *, share: float = TEST_SHARE, what: str = "the data"
) -> tuple[list[int], list[int]]:
    """Indices of train and test, each in ascending order.

    This share of every class, at least one document and not all, is for test; the same labels,
    seed and share give the same split on every machine. Raises DivisionError where a class has
    only one document.
    """
    indices_of: dict[Hashable, list[int]] = {}
    for index, label in enumerate(labels):
        indices_of.setdefault(label, []).append(index)
    # Of all its methods only random() is promised to stay the same from Python to Python. The
    # usual stratified split leaves a small class out of test; here each is divided by itself.
    draw = random.Random(seed).random
    test: list[int] = []
    for label, indices in indices_of.items():
        if len(indices) < 2:
            raise DivisionError(
                f"{what} has no test split and cannot be divided: class '{label}' "
                "has only one document"
            )
        count = min(max(1, round(len(indices) * share)), len(indices) - 1)
        test += sorted(indices, key=lambda _: draw())[:count]
    in_test = set(test)
    return [i for i in range(len(labels)) if i not in in_test], sorted(test)
