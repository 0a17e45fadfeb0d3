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
from zoo_efficient.linformer import Linformer

from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens


def naive_head(attention, position):
    def head(q, k, v, positions, _):
        q, k = rotate(position, q, positions), rotate(position, k, positions)
        slots = range(attention.e.shape[1])
        short_k = torch.stack([sum(attention.e[j, s] * k[j] for j in range(len(k))) for s in slots])
        short_v = torch.stack([sum(attention.f[j, s] * v[j] for j in range(len(v))) for s in slots])
        return torch.stack([softmax_mean(short_k @ row / len(row) ** 0.5, short_v) for row in q])

    return head


@pytest.mark.parametrize("pe", ["none", "rope"])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("rank", [1, 4])
def test_is_equation_7_over_real_tokens(pe, before, rank):
    attention = build(Linformer, max_length=20, rank=rank)
    position = encoding(pe, attention)
    x, tokens = batch([9, 1, 0, 5], before=before)
    agree(
        attention,
        by_heads(attention, position, naive_head(attention, position)),
        x,
        tokens,
        position,
    )


@pytest.mark.parametrize("pe", ["none", "rope"])
def test_with_the_identity_as_projection_is_softmax_attention(pe):
    exact = build(Fused)
    attention = build(Linformer, max_length=15, rank=11)
    eye = torch.eye(15, 11, dtype=torch.float64)
    attention.load_state_dict(exact.state_dict() | {"e": eye, "f": eye})
    position = encoding(pe, exact)
    x, _ = batch([11], after=0)
    tokens = Tokens.whole(11)
    torch.testing.assert_close(
        attention(x, LayerContext(tokens, position)), exact(x, LayerContext(tokens, position))
    )


def test_without_padding_is_as_with_a_mask_of_all_true():
    attention = build(Linformer, max_length=15, rank=4)
    position = encoding("none", attention)
    x, tokens = batch([11], after=0)
    bare = attention(x, LayerContext(Tokens.whole(11), position))
    torch.testing.assert_close(bare, attention(x, LayerContext(tokens, position)))


def test_few_queries_get_the_rows_of_the_whole():
    attention = build(Linformer, max_length=15, rank=4)
    position = encoding("rope", attention)
    x, tokens = batch([11, 6])
    whole = attention(x, LayerContext(tokens, position))
    first = attention(
        x[:, :1], LayerContext(tokens[:1], position, context=x, context_tokens=tokens)
    )
    torch.testing.assert_close(first, whole[:, :1])


def test_refuses_more_tokens_than_it_was_built_for():
    attention = build(Linformer, max_length=10)
    x, tokens = batch([9], after=2)
    with pytest.raises(ValueError, match="takes 10 tokens, not 11"):
        attention(x, LayerContext(tokens, encoding("none", attention)))


@pytest.mark.parametrize("rank", [0, -1, None, 2.5])
def test_rank_must_be_a_number(rank):
    with pytest.raises(ValueError, match="rank must be a whole number of at least 1"):
        Linformer(DIM, HEADS, max_length=10, rank=rank)
