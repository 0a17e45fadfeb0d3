import pytest
import torch
from efficient_helpers import (
    DIM,
    HEADS,
    agree,
    batch,
    build,
    by_heads,
    encoding,
    rotate,
    softmax_mean,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from zoo_efficient.window import Window

from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens


def naive_head(size, position, causal):
    def head(q, k, v, positions, h):
        q, k = rotate(position, q, positions), rotate(position, k, positions)
        bias = position.bias(positions, positions)
        rows = []
        for i in range(len(q)):
            near = [j for j in range(len(k)) if abs(i - j) <= size and not (causal and j > i)]
            scores = torch.stack([q[i] @ k[j] for j in near]) / q.shape[1] ** 0.5
            if bias is not None:
                scores = scores + torch.stack([bias[h, i, j] for j in near])
            rows.append(softmax_mean(scores, v[near]))
        return torch.stack(rows)

    return head


@pytest.mark.parametrize("pe", ["none", "rope", "alibi"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("size", "before"), [(0, 0), (1, 3), (3, 0), (40, 2)])
def test_is_softmax_over_the_keys_in_the_window(pe, causal, size, before):
    attention = build(Window, size=size)
    position = encoding(pe, attention)
    x, tokens = batch([13, 1, 0, 5], before=before)
    naive = by_heads(attention, position, naive_head(size, position, causal))
    agree(attention, naive, x, tokens, position, causal=causal)


@pytest.mark.parametrize("pe", ["rope", "alibi"])
@pytest.mark.parametrize("shared", [True, False])
def test_is_the_same_across_blocks(pe, shared):
    """Three blocks and a piece; positions of the batch, and of each text."""
    attention = build(Window, size=2)
    position = encoding(pe, attention)
    x, tokens = batch([197, 70])
    if shared:
        tokens = Tokens(tokens.attention_mask, tokens.positions[0])
    naive = by_heads(attention, position, naive_head(2, position, causal=False))
    out = attention(x, LayerContext(tokens, position))
    for text, length in enumerate([197, 70]):
        expected = naive(x[text, :length], torch.arange(length))
        torch.testing.assert_close(out[text, :length], expected)


def dense(attention, x, tokens, position, causal):
    """All pairs, and a mask that leaves the window."""
    length = x.shape[1]
    q, k, v = attention.project(x, x)
    q, k = position.rotate(q, tokens.positions), position.rotate(k, tokens.positions)
    scores = q @ k.transpose(-2, -1) / attention.head_dim**0.5
    bias = position.bias(tokens.positions, tokens.positions)
    if bias is not None:
        scores = scores + bias
    i = torch.arange(length)
    seen = (i[:, None] - i).abs() <= attention.size
    if causal:
        seen = seen & (i <= i[:, None])
    if tokens.attention_mask is not None:
        seen = seen & tokens.attention_mask[:, None, None, :]
    weights = scores.masked_fill(~seen, -1e300).softmax(dim=-1)
    return attention.out((weights @ v).transpose(1, 2).flatten(2))


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(1, 260), min_size=1, max_size=3),
    size=st.one_of(st.integers(0, 12), st.integers(50, 300)),
    before=st.integers(0, 5),
    pe=st.sampled_from(["none", "rope", "alibi"]),
    causal=st.booleans(),
    padded=st.booleans(),
)
def test_blocks_are_the_dense_form(lengths, size, before, pe, causal, padded):
    attention = build(Window, size=size)
    position = encoding(pe, attention)
    x, tokens = batch(lengths, before=before)
    if not padded:
        tokens = Tokens.whole(x.shape[1])
    real = torch.ones(x.shape[:2], dtype=torch.bool) if not padded else tokens.attention_mask
    out = attention(x, LayerContext(tokens, position, causal=causal))
    expected = dense(attention, x, tokens, position, causal)
    torch.testing.assert_close(out[real], expected[real])


@pytest.mark.parametrize("pe", ["none", "rope", "alibi"])
@pytest.mark.parametrize(("length", "size"), [(30, 29), (30, 500), (200, 199)])
def test_a_window_over_all_is_fused(pe, length, size):
    exact, attention = build(Fused), build(Window, size=size)
    attention.load_state_dict(exact.state_dict())
    position = encoding(pe, exact)
    x, tokens = batch([length, length // 3])
    real = tokens.attention_mask
    torch.testing.assert_close(
        attention(x, LayerContext(tokens, position))[real],
        exact(x, LayerContext(tokens, position))[real],
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.parametrize("causal", [False, True])
def test_the_map_is_what_forward_mixes_with(causal):
    attention = build(Window, size=3)
    position = encoding("alibi", attention)
    x, tokens = batch([9, 5])
    weights = attention.weights(x, LayerContext(tokens, position, causal=causal))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
    assert (weights[0, :, 0, 4:] == 0).all()
    mixed = (weights @ attention.project(x, x)[2]).transpose(1, 2).flatten(2)
    real = tokens.attention_mask
    torch.testing.assert_close(
        attention.out(mixed)[real],
        attention(x, LayerContext(tokens, position, causal=causal))[real],
    )


@pytest.mark.parametrize("size", [-1, None, 3.0, True])
def test_size_must_be_a_number(size):
    with pytest.raises(ValueError, match="size must be a whole number of at least 0"):
        Window(DIM, HEADS, size=size)
