"""Training deletes and hides a random share of the tokens and leaves the others as they were."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.data.tokenizer import PAD_ID
from zoo.tasks.passes import delete_tokens

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=12)


def batch(lengths: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts whose tokens are all different, padded to the longest."""
    attention_mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.arange(2, 2 + attention_mask.numel()).reshape(attention_mask.shape)
    return ids.masked_fill(~attention_mask, PAD_ID), attention_mask


@quick
@given(LENGTHS, st.floats(0.01, 0.99), st.integers(0, 9))
def test_the_remaining_tokens_are_the_right_share_in_their_order(lengths, share, seed):
    ids, attention_mask = batch(lengths)
    torch.manual_seed(seed)
    remaining, real = delete_tokens(ids, attention_mask, share)
    assert real is not None
    assert remaining.shape == real.shape
    assert (remaining[~real] == PAD_ID).all()
    for before, after, mask, length in zip(ids, remaining, real, lengths, strict=True):
        count = int(mask.sum())
        assert mask[:count].all()
        assert abs(count - 1 - (length - 1) * (1 - share)) <= 0.51
        kept = after[:count].tolist()
        assert kept[0] == before[0]
        assert kept == sorted(set(kept))  # ids rise along a text
        assert set(kept) <= set(before[:length].tolist())


@quick
@given(st.integers(1, 40), st.integers(1, 9), st.floats(0.01, 0.99))
def test_texts_of_one_length_lose_the_same_tokens_with_a_mask_and_without(length, texts, share):
    ids, attention_mask = batch([length] * texts)
    torch.manual_seed(3)
    plain, none = delete_tokens(ids, None, share)
    torch.manual_seed(3)
    masked, real = delete_tokens(ids, attention_mask, share)
    assert none is None
    assert real is not None
    assert torch.equal(plain, masked)
    assert real.all()


def test_every_token_but_the_first_is_equally_likely_to_be_deleted():
    ids, attention_mask = batch([11, 21] * 1000)
    torch.manual_seed(0)
    remaining, _ = delete_tokens(ids, attention_mask, 0.4)
    remains = torch.isin(ids, remaining) & attention_mask
    shares = remains.float()[1::2].mean(dim=0)
    assert shares[0] == 1
    # Of 1,000 texts: four standard errors of a share of 0.6 are 0.06.
    assert shares[1:].tolist() == pytest.approx([0.6] * 20, abs=0.06)


def test_no_random_number_is_drawn_where_the_share_is_zero():
    ids, attention_mask = batch([4, 9])
    before = torch.get_rng_state()
    assert delete_tokens(ids, attention_mask, 0.0) == (ids, attention_mask)
    assert torch.equal(torch.get_rng_state(), before)
