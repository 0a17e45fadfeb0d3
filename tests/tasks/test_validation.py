"""What is held out of the training split is not trained on, nor are its duplicates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zoo.tasks.classifying import validation_rows

from zoo.data.sources.corpus import plain_words
from zoo.errors import ZooError

quick = settings(max_examples=50, deadline=None, derandomize=True, database=None)


@quick
@given(st.integers(10, 60), st.integers(1, 25), st.sampled_from([0.2, 0.25, 0.5]))
def test_no_text_stands_on_both_sides(documents: int, distinct: int, share: float):
    labels = np.arange(documents) % 2
    texts = [
        f"Story  {n % distinct}" if n % 3 else f"story {n % distinct}" for n in range(documents)
    ]
    plain_fit, plain_held = validation_rows(labels, share)
    said = {plain_words(texts[row]) for row in plain_held}
    others = [row for row in plain_fit if plain_words(texts[row]) not in said]
    if not others:
        with pytest.raises(ZooError, match="every other document"):
            validation_rows(labels, share, texts)
        return
    fit, held = validation_rows(labels, share, texts)
    assert held.tolist() == plain_held.tolist()
    assert fit.tolist() == others


def test_without_texts_the_sides_hold_everything_in_the_shares_of_its_classes():
    labels = np.array([0] * 40 + [1] * 80)
    fit, held = validation_rows(labels, 0.25)
    assert sorted([*fit, *held]) == list(range(120))
    assert np.bincount(labels[held]).tolist() == [10, 20]


def test_a_split_of_one_text_cannot_be_divided():
    with pytest.raises(ZooError, match="every other document is also held out"):
        validation_rows(np.array([0, 1] * 4), 0.5, ["the same"] * 8)
