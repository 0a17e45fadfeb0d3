"""Documents held out of the training split are not trained on, nor are their duplicates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

from zoo.data.sources.corpus import plain_words
from zoo.errors import ZooError
from zoo.tasks.classify import validation_rows

quick = settings(max_examples=50, deadline=None, derandomize=True, database=None)


@quick
@given(st.integers(10, 60), st.integers(1, 25), st.sampled_from([0.2, 0.25, 0.5]))
def test_no_text_is_on_both_sides(documents, distinct, share):
    labels = np.arange(documents) % 2
    texts = [
        f"Report  {n % distinct}" if n % 3 else f"report {n % distinct}" for n in range(documents)
    ]
    plain_fit, plain_held_out = validation_rows(labels, share)
    texts_held_out = {plain_words(texts[row]) for row in plain_held_out}
    others = [row for row in plain_fit if plain_words(texts[row]) not in texts_held_out]
    if not others:
        refused("every other document", validation_rows, labels, share, texts)
        return
    fit, held_out = validation_rows(labels, share, texts)
    assert held_out.tolist() == plain_held_out.tolist()
    assert fit.tolist() == others


def test_without_texts_every_document_is_on_one_side_and_classes_keep_their_shares():
    labels = np.array([0] * 40 + [1] * 80)
    fit, held_out = validation_rows(labels, 0.25)
    assert sorted([*fit, *held_out]) == list(range(120))
    assert np.bincount(labels[held_out]).tolist() == [10, 20]


def test_a_split_of_one_text_cannot_be_divided():
    with pytest.raises(ZooError, match="every other document is also held out"):
        validation_rows(np.array([0, 1] * 4), 0.5, ["the same"] * 8)
