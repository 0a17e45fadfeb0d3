"""Scores of classification, and the logits that they are computed from."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from token_splits import RUNTIME, Bag, split

from zoo.tasks.classify import (
    class_evaluation,
    predict_logits,
    unbalanced_remark,
)
from zoo.tasks.metrics import accuracy, macro_f1


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=80), st.integers(1, 9))
def test_logits_are_in_the_order_of_the_split_for_any_batch_size(lengths, batch_size):
    model, texts = Bag(), split(lengths)
    logits = predict_logits(model, texts, batch_size, RUNTIME)
    model.eval()
    for row in range(len(lengths)):
        alone = texts.batch(np.array([row]))
        with torch.no_grad():
            expected = model(alone.ids, alone.tokens)[0]
        np.testing.assert_allclose(logits[row], expected.numpy(), atol=1e-5)


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


def test_unbalanced_classes_are_remarked_on_with_their_shares():
    said = unbalanced_remark(np.array([10, 0, 85, 5]), ["a", "b", "c", "d"])
    assert "85% of the training texts are 'c', where an even share would be 33%" in said
    assert unbalanced_remark(np.array([30, 35, 35]), ["a", "b", "c"]) == ""
