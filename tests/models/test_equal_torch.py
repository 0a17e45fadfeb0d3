"""torch's transformer, of the same weights, computes the same; a part moved, and it does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from references import shake
from small_models import cells_of, copy_block, copy_norm, encoder_decoder, padded
from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.block.post import Post
from zoo.components.block.pre import Pre
from zoo.components.norm.layer import LayerNorm
from zoo.components.pe.none import NoPositions
from zoo.components.tokens import Tokens
from zoo.models.architectures import EncoderDecoder
from zoo.registry import Registry

EQUAL = 1e-5
BROKEN = 1e-2  # the least difference of a model with one part changed

AXES = {
    "block": ("pre", "post"),
    "attention": ("naive", "split", "packed", "fused", "torch"),
    "ffn": ("relu", "gelu"),
}
NO_POSITIONS = NoPositions(dim=8, heads=2, head_dim=4, max_length=9)
MEMORY = padded([[1, 2, 3, 4, 5], [6, 7], [8, 9, 1]], "right")
TARGET = padded([[5, 4, 3], [2, 1, 9, 8], [7, 6]], "right")


def off(ours: Tensor, theirs: Tensor, tokens: Tokens) -> float:
    """The greatest difference between real tokens."""
    return float((ours - theirs)[tokens.attention_mask].detach().abs().max())


def normals(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def one_block(registry: Registry, cell: dict[str, str]) -> Block:
    """A decoder's first block, weights moved off their initial values."""
    model = encoder_decoder(registry, pe="none", **cell)
    return shake(model).eval().decoder.blocks[0]


def torchs_layer(kind: type[nn.Module], block: str, ffn: str = "relu", **_: str) -> Any:
    return kind(8, 2, 12, 0.0, ffn, batch_first=True, norm_first=block == "pre").double()


def future(length: int) -> Tensor:
    """torch's causal mask (L, L): True where a query may not attend."""
    return nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64).isinf()


@contextmanager
def other_arrangement(block: Block) -> Iterator[None]:
    """The block with its norms where the other sort of block has them."""
    own = block.__class__
    block.__class__ = Post if own is Pre else Pre
    try:
        yield
    finally:
        block.__class__ = own


@cells_of(AXES)
def test_a_block_is_torchs_encoder_layer(registry: Registry, cell: dict[str, str]) -> None:
    ours = one_block(registry, cell)
    ours.cross = ours.cross_norm = None
    theirs = torchs_layer(nn.TransformerEncoderLayer, **cell)
    copy_block(ours, theirs)
    _, tokens = MEMORY
    x = normals(3, 5, 8, seed=1)
    context = LayerContext(tokens, NO_POSITIONS)
    expected = theirs(x, src_key_padding_mask=~tokens.attention_mask)
    assert off(ours(x, context), expected, tokens) < EQUAL
    causal = theirs(x, src_mask=future(5), src_key_padding_mask=~tokens.attention_mask)
    looking_back = LayerContext(tokens, NO_POSITIONS, causal=True)
    assert off(ours(x, looking_back), causal, tokens) < EQUAL

    assert off(ours(x, looking_back), expected, tokens) > BROKEN
    flipped = LayerContext(Tokens(~tokens.attention_mask, tokens.positions), NO_POSITIONS)
    assert off(ours(x, flipped), expected, tokens) > BROKEN
    with other_arrangement(ours):
        assert off(ours(x, context), expected, tokens) > BROKEN


@cells_of(AXES)
def test_a_block_is_torchs_decoder_layer(registry: Registry, cell: dict[str, str]) -> None:
    ours = one_block(registry, cell)
    theirs = torchs_layer(nn.TransformerDecoderLayer, **cell)
    copy_block(ours, theirs)
    (_, tokens), (_, memory_tokens) = TARGET, MEMORY
    x, memory = normals(3, 4, 8, seed=1), normals(3, 5, 8, seed=2)

    def context(**changes: Any) -> LayerContext:
        options = {"tokens": tokens, "memory_tokens": memory_tokens, "causal": True} | changes
        return LayerContext(position=NO_POSITIONS, memory=memory, **options)

    expected = theirs(
        x,
        memory,
        tgt_mask=future(4),
        tgt_key_padding_mask=~tokens.attention_mask,
        memory_key_padding_mask=~memory_tokens.attention_mask,
    )
    assert off(ours(x, context()), expected, tokens) < EQUAL

    assert off(ours(x, context(causal=False)), expected, tokens) > BROKEN
    backwards = Tokens(tokens.attention_mask, -tokens.positions)
    assert off(ours(x, context(tokens=backwards)), expected, tokens) > BROKEN
    flipped = Tokens(~memory_tokens.attention_mask, memory_tokens.positions)
    assert off(ours(x, context(memory_tokens=flipped)), expected, tokens) > BROKEN
    with other_arrangement(ours):
        assert off(ours(x, context()), expected, tokens) > BROKEN
    ours.cross_norm, ours.ffn_norm = ours.ffn_norm, ours.cross_norm
    assert off(ours(x, context()), expected, tokens) > BROKEN


def test_cross_attention_the_other_way_round_has_the_length_of_the_source(
    registry: Registry,
) -> None:
    cross = one_block(registry, {"block": "post"}).cross
    x, memory = normals(3, 4, 8, seed=1), normals(3, 5, 8, seed=2)
    tokens, memory_tokens = Tokens.whole(4), Tokens.whole(5)
    right = cross(
        x, LayerContext(tokens, NO_POSITIONS, context=memory, context_tokens=memory_tokens)
    )
    assert right.shape == (3, 4, 8)
    out = cross(memory, LayerContext(memory_tokens, NO_POSITIONS, context=x, context_tokens=tokens))
    assert out.shape == (3, 5, 8)


def torchs_transformer(ours: EncoderDecoder, block: str) -> nn.Transformer:
    """Of the same weights; it ends both stacks with a norm, after post-norm blocks as well.

    The stacks are those that nn.Transformer builds itself, but for a warning.
    """
    kinds = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    reading, writing = (torchs_layer(kind, block) for kind in kinds)
    theirs = nn.Transformer(
        8,
        2,
        batch_first=True,
        custom_encoder=nn.TransformerEncoder(
            reading, 2, nn.LayerNorm(8), enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(writing, 2, nn.LayerNorm(8)),
    ).double()
    for stack, own in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        for mine, layer in zip(stack.blocks, own.layers, strict=True):
            copy_block(mine, layer)
        copy_norm(stack.final_norm, own.norm)
    return theirs.eval()


@pytest.mark.parametrize("attention", AXES["attention"])
@pytest.mark.parametrize("block", AXES["block"])
def test_an_encoder_decoder_is_torchs_transformer(
    registry: Registry, block: str, attention: str
) -> None:
    ours = encoder_decoder(registry, block=block, attention=attention, pe="none")
    if block == "post":
        ours.encoder.final_norm, ours.decoder.final_norm = LayerNorm(8), LayerNorm(8)
    shake(ours).eval()
    theirs = torchs_transformer(ours, block)
    (source, source_tokens), (target, tokens) = MEMORY, TARGET
    x = theirs(
        ours.encoder.embedding(source),
        ours.decoder.embedding(target),
        tgt_mask=future(4),
        src_key_padding_mask=~source_tokens.attention_mask,
        tgt_key_padding_mask=~tokens.attention_mask,
        memory_key_padding_mask=~source_tokens.attention_mask,
    )
    expected = x @ ours.decoder.embedding.weight.T

    def ours_is_off(
        source_tokens: Tokens = source_tokens,
        memory_tokens: Tokens = source_tokens,
        target_tokens: Tokens = tokens,
    ) -> float:
        memory = ours.encoder(source, source_tokens)
        return off(ours.decode(target, target_tokens, memory, memory_tokens), expected, tokens)

    assert ours_is_off() < EQUAL
    out = ours(source, source_tokens, target, tokens)
    assert off(out, expected, tokens) < EQUAL

    flipped = Tokens(~source_tokens.attention_mask, source_tokens.positions)
    assert ours_is_off(source_tokens=flipped) > BROKEN
    assert ours_is_off(memory_tokens=flipped) > BROKEN
    assert ours_is_off(target_tokens=Tokens(tokens.attention_mask, -tokens.positions)) > BROKEN
    for stack in (ours.encoder, ours.decoder):
        with other_arrangement(stack.blocks[1]):
            assert ours_is_off() > BROKEN
        norm, stack.final_norm = stack.final_norm, None
        assert ours_is_off() > BROKEN
        stack.final_norm = norm
    assert ours_is_off() < EQUAL
