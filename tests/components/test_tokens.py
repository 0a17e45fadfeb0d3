"""Which token may attend to which."""

import pytest
import torch

from zoo.components.tokens import Tokens, may_attend

MASK = torch.tensor([[1, 1, 1, 0], [1, 0, 1, 1]], dtype=torch.bool)


def test_whole_texts_have_no_padding_and_count_from_zero():
    tokens = Tokens.whole(4)
    assert tokens.attention_mask is None
    assert tokens.positions.tolist() == [0, 1, 2, 3]


def test_positions_of_a_mask_count_real_tokens():
    tokens = Tokens.of(torch.tensor([[0, 0, 1, 1], [1, 0, 1, 1], [0, 0, 0, 0]]))
    assert tokens.attention_mask is not None
    assert tokens.attention_mask.sum(dim=1).tolist() == [2, 3, 0]
    assert tokens.positions.tolist() == [[0, 0, 0, 1], [0, 0, 1, 2], [0, 0, 0, 0]]
    assert not tokens.in_order


def test_a_slice_keeps_mask_and_positions():
    shared = Tokens(MASK, torch.arange(4))[1:3]
    assert shared.attention_mask is not None
    assert shared.attention_mask.tolist() == [[True, True], [False, True]]
    assert shared.positions.tolist() == [1, 2]
    per_text = Tokens(None, torch.tensor([[0, 1, 2, 3], [5, 6, 7, 8]]))[1:3]
    assert per_text.attention_mask is None
    assert per_text.positions.tolist() == [[1, 2], [6, 7]]


def test_without_padding_and_causality_nothing_is_masked():
    assert may_attend(Tokens.whole(3), Tokens.whole(4), causal=False) is None


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("per_text", [False, True])
def test_a_query_may_attend_to_real_keys_and_if_causal_to_none_after_it(causal, padded, per_text):
    q_at = torch.tensor([[1, 3], [2, 0]]) if per_text else torch.tensor([1, 3]).expand(2, 2)
    k_at = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 3]])
    mask = may_attend(
        Tokens(None, q_at if per_text else q_at[0]),
        Tokens(MASK if padded else None, k_at if per_text else k_at[0]),
        causal,
    )
    seen = torch.ones(2, 1, 2, 4, dtype=torch.bool) if mask is None else mask.expand(2, 1, 2, 4)
    for b in range(2):
        for i in range(2):
            for j in range(4):
                right = (not padded or bool(MASK[b, j])) and (
                    not causal or int(k_at[b, j]) <= int(q_at[b, i])
                )
                assert bool(seen[b, 0, i, j]) == right, (b, i, j)


def test_a_query_without_keys_may_attend_to_all_of_them():
    attention_mask = torch.tensor([[False, False, False], [False, True, True]])
    mask = may_attend(Tokens.whole(3), Tokens(attention_mask, torch.arange(3)), causal=True)
    assert mask is not None
    yes, no = True, False
    assert mask[0, 0].tolist() == [[yes, yes, yes]] * 3
    assert mask[1, 0].tolist() == [[yes, yes, yes], [no, yes, no], [no, yes, yes]]
