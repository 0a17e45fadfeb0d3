"""Documents held out of the training split are not trained on, nor are their duplicates."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

from zoo.data.sources.corpus import plain_words
from zoo.tasks.encoder_task import held_out_rows, without_copies

quick = settings(max_examples=50, deadline=None, derandomize=True, database=None)


@quick
@given(st.integers(10, 60), st.integers(1, 25), st.sampled_from([0.2, 0.25, 0.5]))
def test_no_text_is_on_both_sides(documents, distinct, share):
    labels = np.arange(documents) % 2
    texts = [
        f"Report  {n % distinct}" if n % 3 else f"report {n % distinct}" for n in range(documents)
    ]
    rows = plain_fit, plain_held_out = held_out_rows(documents, share, labels)
    texts_held_out = {plain_words(texts[row]) for row in plain_held_out}
    others = [row for row in plain_fit if plain_words(texts[row]) not in texts_held_out]
    if not others:
        refused("leaves nothing to train on", without_copies, rows, texts, share)
        return
    fit, held_out = without_copies(rows, texts, share)
    assert held_out.tolist() == plain_held_out.tolist()
    assert fit.tolist() == others


def test_every_document_is_on_one_side_and_classes_keep_their_shares():
    labels = np.array([0] * 40 + [1] * 80)
    fit, held_out = held_out_rows(120, 0.25, labels)
    assert sorted([*fit, *held_out]) == list(range(120))
    assert np.bincount(labels[held_out]).tolist() == [10, 20]
