"""Batches hold every text once, padded to the longest of them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_splits import documents, split

from zoo.data.batches import PaddedSplit, shuffled_rows

quick = settings(max_examples=25, deadline=None, derandomize=True, database=None)
LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=80)


@quick
@given(LENGTHS, st.integers(1, 16), st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_an_epoch_holds_every_document_once(lengths, batch_size, seed, epoch, by_length):
    batches = shuffled_rows(np.array(lengths), batch_size, seed, epoch, by_length=by_length)
    rows = np.concatenate(batches)
    assert sorted(rows) == list(range(len(lengths)))
    assert all(len(b) <= batch_size for b in batches)


def test_random_batches_hold_any_lengths_and_batches_by_length_similar_ones():
    lengths = np.arange(1000)
    spreads = {
        by_length: np.mean(
            [np.ptp(rows) for rows in shuffled_rows(lengths, 20, 0, 0, by_length=by_length)]
        )
        for by_length in (True, False)
    }
    assert spreads[True] < 60
    assert spreads[False] == pytest.approx(1000 * 19 / 21, rel=0.05)  # of 20 uniform draws


@quick
@given(LENGTHS, st.integers(1, 16))
def test_a_batch_is_the_documents_padded_to_the_longest(lengths, batch_size):
    texts, device = documents(lengths), torch.device("cpu")
    for batch in PaddedSplit(texts, device).shuffled(batch_size, seed=1, epoch=0):
        longest = max(lengths[row] for row in batch.rows)
        assert batch.ids.shape == (len(batch.rows), longest)
        assert batch.padded_tokens == batch.ids.numel()
        assert batch.real_tokens == sum(lengths[row] for row in batch.rows)
        for place, row in enumerate(batch.rows):
            n = lengths[row]
            start = texts.offsets[row]
            assert batch.ids[place, :n].tolist() == texts.ids[start : start + n].tolist()
            assert (batch.ids[place, n:] == 0).all()
            if batch.tokens.attention_mask is None:
                assert n == longest
            else:
                expected = [True] * n + [False] * (longest - n)
                assert batch.tokens.attention_mask[place].tolist() == expected
            assert batch.targets[place] == texts.columns["labels"][row]


@pytest.mark.parametrize("by_length", [True, False])
def test_the_order_depends_on_seed_and_epoch_alone(by_length):
    lengths = np.arange(1, 200)

    def order(seed: int, epoch: int) -> list[int]:
        batches = shuffled_rows(lengths, 8, seed, epoch, by_length=by_length)
        return np.concatenate(batches).tolist()

    assert order(3, 1) == order(3, 1)
    assert order(3, 1) != order(3, 2)
    assert order(3, 1) != order(4, 1)


def test_batches_by_length_need_little_padding():
    draw = np.random.default_rng(0)
    lengths = np.clip(draw.lognormal(5.0, 0.6, 1200).astype(int), 10, 2000)
    batches = list(split(lengths.tolist()).shuffled(32, seed=0, epoch=0))
    real, padded = (sum(getattr(b, f"{w}_tokens") for b in batches) for w in ("real", "padded"))
    assert padded < 1.15 * real
