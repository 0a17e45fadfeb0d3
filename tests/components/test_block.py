"""Blocks arrange their sub-layers like torch's layers, and by their one line."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from references import assert_same, randoms, shake
from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.registry import Registry

DIM, HEADS, HIDDEN, LENGTH, MEMORY = 8, 2, 12, 4, 5
NO_POSITIONS = PositionalEncoding(dim=DIM, heads=HEADS, head_dim=DIM // HEADS, max_length=16)
MASK = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]], dtype=torch.bool)
MEMORY_MASK = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.bool)
BLOCKS = ("pre", "post", "res-post", "bare")
READ = (slice(0, 1), slice(1, 3), slice(-1, None))


def build(
    registry: Registry, name: str, *, ffn: str = "relu", cross: bool = False, dropout: float = 0.0
) -> Block:
    torch.manual_seed(0)
    attention = registry.choose("attention", "split")
    block = registry.choose("block", name).build(
        attention.build(DIM, HEADS),
        registry.choose("ffn", ffn).build(DIM, HIDDEN, 0.0),
        lambda: registry.choose("norm", "layer").build(DIM),
        dropout=dropout,
        cross=attention.build(DIM, HEADS) if cross else None,
    )
    return shake(block)


def called(
    position: PositionalEncoding, positions: Tensor | None = None, causal: bool = False
) -> tuple[Tensor, LayerContext, Tensor]:
    """Hidden states of two padded texts, what a block is called with, and its memory."""
    x, memory = randoms(2, LENGTH, DIM), randoms(2, MEMORY, DIM, seed=2)
    tokens = Tokens(MASK, torch.arange(LENGTH) if positions is None else positions)
    memory_tokens = Tokens(MEMORY_MASK, torch.arange(MEMORY))
    context = LayerContext(
        tokens, position, causal=causal, memory=memory, memory_tokens=memory_tokens
    )
    return x, context, memory


def encoding(registry: Registry, name: str) -> PositionalEncoding:
    sizes = {"dim": DIM, "heads": HEADS, "head_dim": DIM // HEADS, "max_length": 16}
    return registry.choose("pe", name).build(**sizes).double()


LINES: dict[str, Callable[[Tensor, Callable[[Tensor], Tensor], nn.Module], Tensor]] = {
    "pre": lambda x, f, norm: x + f(norm(x)),
    "post": lambda x, f, norm: norm(x + f(x)),
    "res-post": lambda x, f, norm: x + norm(f(x)),
    "bare": lambda x, f, norm: f(norm(x)),
}


@pytest.mark.parametrize(("ffn", "cross"), [("swiglu", False), ("none", False), ("relu", True)])
@pytest.mark.parametrize("name", BLOCKS)
def test_each_sublayer_is_arranged_by_the_blocks_one_line(registry, name, ffn, cross):
    """torch's own encoder and decoder layers: see tests/models/test_equal_torch.py."""
    block, line = build(registry, name, ffn=ffn, cross=cross), LINES[name]
    x, layer, _ = called(NO_POSITIONS)
    alone = LayerContext(layer.tokens, NO_POSITIONS)
    memory = replace(alone, context=layer.memory, context_tokens=layer.memory_tokens)
    expected = line(x, lambda h: block.attention(h, alone), block.attention_norm)
    if cross:
        expected = line(expected, lambda h: block.cross(h, memory), block.cross_norm)
    if ffn == "none":
        assert block.ffn is None
        assert block.ffn_norm is None
    else:
        expected = line(expected, lambda h: block.ffn(h, alone), block.ffn_norm)
    assert_same(block(x, layer), expected, [x, *block.parameters()])


@pytest.mark.parametrize("encoded", ["rope", "alibi"])
def test_the_memory_has_no_positions_in_common_with_the_text(registry, encoded):
    block = build(registry, "pre", cross=True)
    x, layer, _ = called(encoding(registry, encoded))
    later = Tokens(MEMORY_MASK, torch.arange(MEMORY) + 9)
    assert_same(block(x, layer), block(x, replace(layer, memory_tokens=later)))


@pytest.mark.parametrize("name", BLOCKS)
def test_dropout_acts_on_both_sublayers_in_training_only(registry, name):
    dropping, still = build(registry, name, dropout=0.9), build(registry, name)
    x, context = randoms(2, LENGTH, DIM), LayerContext(Tokens.whole(LENGTH), NO_POSITIONS)
    assert torch.equal(dropping.eval()(x, context), still.eval()(x, context))
    assert torch.equal(still.train()(x, context), still.eval()(x, context))
    torch.manual_seed(1)
    assert (dropping.train()(x, context) - still(x, context)).abs().max() > 0.1
    dropping.dropout = 1.0  # nothing of a sub-layer is left
    out = dropping(x, context)
    if name in ("pre", "res-post"):
        assert torch.equal(out, x)
    elif name == "bare":
        assert out.eq(0).all()
    else:
        assert_same(out, dropping.ffn_norm(dropping.attention_norm(x)))
