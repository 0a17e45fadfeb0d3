"""metric/my-metric is what one gets by hand."""

from __future__ import annotations

import numpy as np

from zoo.registry.scaffold.starters.metric import compute


def test_the_class_that_is_found_least_often_decides() -> None:
    """Three classes, counted by hand."""
    labels = np.array([0, 0, 0, 0, 1, 1, 2])
    predicted = np.array([0, 0, 0, 1, 1, 0, 2])  # 3 of 4, 1 of 2, 1 of 1
    assert compute({"labels": labels, "predicted": predicted, "classes": 4}) == 0.5
