"""Scores of classification."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from zoo.tasks.classify import class_evaluation
from zoo.tasks.metrics import accuracy, macro_f1


def test_scores_are_scikit_learns():
    draw = np.random.default_rng(0)
    truth, guess = draw.integers(0, 4, 200), draw.integers(0, 3, 200)
    found = class_evaluation(guess, truth, 5)
    assert accuracy().compute(found.outputs) == accuracy_score(truth, guess)
    every = [0, 1, 2, 3, 4]
    expected = f1_score(truth, guess, labels=every, average="macro", zero_division=0)
    assert macro_f1().compute(found.outputs) == expected
    assert found.details["examples"] == 200
    assert found.details["confusion"] == confusion_matrix(truth, guess, labels=every).tolist()
    assert len(found.details["errors"]) == (truth != guess).sum()
    assert all(truth[r] == t and guess[r] == g for r, t, g in found.details["errors"])
