"""Blocks arrange their sub-layers like torch's layers, and by their one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from references import assert_same, canonical, randoms, shake
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


def copied(block: Block, layer: nn.Module) -> nn.Module:
    """torch's encoder or decoder layer with the block's weights."""
    norms = [block.attention_norm, block.ffn_norm]
    attentions = {"self_attn": block.attention}
    if block.cross is not None:
        norms.insert(1, block.cross_norm)
        attentions["multihead_attn"] = block.cross
    state = {
        "linear1.weight": block.ffn.inner.weight,
        "linear1.bias": block.ffn.inner.bias,
        "linear2.weight": block.ffn.outer.weight,
        "linear2.bias": block.ffn.outer.bias,
    }
    for number, norm in enumerate(norms, 1):
        state |= {f"norm{number}.weight": norm.scale, f"norm{number}.bias": norm.shift}
    for name, module in attentions.items():
        weights = canonical(module)
        state |= {
            f"{name}.in_proj_weight": torch.cat([weights[w] for w in ("wq", "wk", "wv")]),
            f"{name}.in_proj_bias": torch.cat([weights[b] for b in ("bq", "bk", "bv")]),
            f"{name}.out_proj.weight": weights["wo"],
            f"{name}.out_proj.bias": weights["bo"],
        }
    layer.load_state_dict(state)
    return layer


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("name", ["pre", "post"])
def test_agrees_with_torchs_encoder_layer_of_the_same_weights(
    registry: Registry, name: str, activation: str
) -> None:
    block = build(registry, name, ffn=activation)
    layer = nn.TransformerEncoderLayer(
        DIM, HEADS, HIDDEN, 0.0, activation, batch_first=True, norm_first=name == "pre"
    ).double()
    x = randoms(2, LENGTH, DIM)
    expected = copied(block, layer)(x, src_key_padding_mask=~MASK)
    assert_same(
        block(x, LayerContext(Tokens(MASK, torch.arange(LENGTH)), NO_POSITIONS)), expected, [x]
    )


@pytest.mark.parametrize("name", ["pre", "post"])
def test_with_cross_attention_agrees_with_torchs_decoder_layer(
    registry: Registry, name: str
) -> None:
    block = build(registry, name, cross=True)
    layer = nn.TransformerDecoderLayer(
        DIM, HEADS, HIDDEN, 0.0, batch_first=True, norm_first=name == "pre"
    ).double()
    x, memory = randoms(2, LENGTH, DIM, seed=1), randoms(2, MEMORY, DIM, seed=2)
    expected = copied(block, layer)(
        x,
        memory,
        tgt_mask=torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1),
        memory_key_padding_mask=~MEMORY_MASK,
    )
    context = LayerContext(
        Tokens.whole(LENGTH),
        NO_POSITIONS,
        causal=True,
        memory=memory,
        memory_tokens=Tokens(MEMORY_MASK, torch.arange(MEMORY)),
    )
    assert_same(block(x, context), expected, [x, memory])


LINES: dict[str, Callable[[Tensor, Callable[[Tensor], Tensor], nn.Module], Tensor]] = {
    "pre": lambda x, f, norm: x + f(norm(x)),
    "post": lambda x, f, norm: norm(x + f(x)),
    "res-post": lambda x, f, norm: x + norm(f(x)),
    "bare": lambda x, f, norm: f(norm(x)),
}


@pytest.mark.parametrize("ffn", ["swiglu", "none"])
@pytest.mark.parametrize("name", BLOCKS)
def test_each_sublayer_is_arranged_by_the_blocks_one_line(
    registry: Registry, name: str, ffn: str
) -> None:
    block, line, x = build(registry, name, ffn=ffn), LINES[name], randoms(2, LENGTH, DIM)
    tokens = Tokens(MASK, torch.arange(LENGTH))
    expected = line(
        x, lambda h: block.attention(h, LayerContext(tokens, NO_POSITIONS)), block.attention_norm
    )
    if ffn == "none":
        assert block.ffn is None
        assert block.ffn_norm is None
    else:
        expected = line(expected, lambda h: block.ffn(h, LayerContext(tokens)), block.ffn_norm)
    leaves = [x, *block.parameters()]
    assert_same(block(x, LayerContext(tokens, NO_POSITIONS)), expected, leaves)


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_that_do_not_normalise_sums_need_a_final_norm(registry: Registry, name: str) -> None:
    assert build(registry, name).final_norm == (name in ("pre", "res-post"))


@pytest.mark.parametrize("name", BLOCKS)
def test_adds_its_input_if_and_only_if_it_declares_residual(registry: Registry, name: str) -> None:
    block = build(registry, name)
    with torch.no_grad():
        for layer in (block.attention.out, block.ffn.outer):
            layer.weight.zero_()
            layer.bias.zero_()
    x = randoms(2, LENGTH, DIM)
    out = block(x, LayerContext(Tokens.whole(LENGTH), NO_POSITIONS))
    assert bool(out.abs().max() > 0.1) == registry.get("block", name).can("residual")


@pytest.mark.parametrize(
    ("encoding", "causal", "read"),
    [
        *(("rope", causal, read) for causal in (False, True) for read in READ),
        ("none", True, READ[0]),
        ("alibi", False, READ[1]),
        ("alibi", True, READ[2]),
    ],
)
@pytest.mark.parametrize("name", BLOCKS)
def test_computing_only_the_read_positions_equals_computing_all(
    registry: Registry, name: str, encoding: str, causal: bool, read: slice
) -> None:
    block, x = build(registry, name, cross=True), randoms(2, LENGTH, DIM)
    position = registry.choose("pe", encoding).build(
        dim=DIM, heads=HEADS, head_dim=DIM // HEADS, max_length=16
    )
    memory, memory_tokens = randoms(2, MEMORY, DIM), Tokens(MEMORY_MASK, torch.arange(MEMORY))
    tokens = Tokens(MASK, torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7]]))
    everything = LayerContext(
        tokens, position.double(), causal=causal, memory=memory, memory_tokens=memory_tokens
    )
    some = replace(everything, read=read)
    out = block(x, some)
    assert out.shape[1] == len(range(*read.indices(LENGTH)))
    leaves = [x, memory, *block.parameters()]
    assert_same(out, block(x, everything)[:, read], leaves)


@pytest.mark.parametrize("name", BLOCKS)
def test_cross_attention_without_a_memory_is_refused(registry: Registry, name: str) -> None:
    block = build(registry, name, cross=True)
    with pytest.raises(ValueError, match="needs a memory"):
        block(randoms(2, LENGTH, DIM), LayerContext(Tokens.whole(LENGTH), NO_POSITIONS))


@pytest.mark.parametrize("encoding", ["rope", "alibi"])
def test_the_memory_has_no_positions_in_common_with_the_text(
    registry: Registry, encoding: str
) -> None:
    block, x = build(registry, "pre", cross=True), randoms(2, LENGTH, DIM)
    position = registry.choose("pe", encoding).build(
        dim=DIM, heads=HEADS, head_dim=DIM // HEADS, max_length=16
    )
    outs = []
    for memory_at in (torch.arange(MEMORY), torch.arange(MEMORY) + 9):
        memory_tokens = Tokens(None, memory_at)
        context = LayerContext(
            Tokens.whole(LENGTH),
            position.double(),
            memory=randoms(2, MEMORY, DIM),
            memory_tokens=memory_tokens,
        )
        outs.append(block(x, context))
    assert_same(outs[0], outs[1])


@pytest.mark.parametrize("name", BLOCKS)
def test_dropout_acts_on_both_sublayers_in_training_only(registry: Registry, name: str) -> None:
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
