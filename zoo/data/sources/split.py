"""Dividing one table into train and test, so that both have the classes in like shares."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence

from zoo.errors import ZooError

TEST_SHARE = 0.25


def stratified(
    labels: Sequence[Hashable], seed: int, *, what: str = "the data"
) -> tuple[list[int], list[int]]:
    """Indices of train (three quarters) and test (one quarter), each in ascending order.

    A quarter of every class is for test, and at least one document of it on either side; the same
    labels and seed give the same split on every machine.
    Raises ZooError where a class has only one document.
    """
    rows_of: dict[Hashable, list[int]] = {}
    for row, label in enumerate(labels):
        rows_of.setdefault(label, []).append(row)
    # Of all its methods only random() is promised to stay the same from Python to Python. The
    # usual stratified split leaves a small class out of test; here each is divided by itself.
    draw = random.Random(seed).random
    test: list[int] = []
    for label, rows in rows_of.items():
        if len(rows) < 2:
            raise ZooError(
                f"{what} has no test split and cannot be divided: class '{label}' "
                "has only one document"
            )
        count = max(1, round(len(rows) * TEST_SHARE))
        test += sorted(rows, key=lambda _: draw())[:count]
    held = set(test)
    return [row for row in range(len(labels)) if row not in held], sorted(test)
