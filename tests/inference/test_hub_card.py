"""The interval of macro F1 in the card that goes to the Hub."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from zoo.inference.hub_card import bootstrapped_f1


def test_the_interval_of_macro_f1_is_that_of_resampled_documents():
    confusion = np.array([[40, 5, 1], [3, 20, 2], [0, 4, 9]])
    true, predicted = (
        np.repeat(axis, confusion.flatten()) for axis in np.indices((3, 3)).reshape(2, -1)
    )
    draw = np.random.default_rng(1)
    rows = draw.integers(0, len(true), (150, len(true)))
    scores = [f1_score(true[r], predicted[r], average="macro", zero_division=0) for r in rows]
    assert bootstrapped_f1(confusion) == pytest.approx(
        np.quantile(scores, [0.025, 0.975]), abs=0.015
    )
