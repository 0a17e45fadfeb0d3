"""torch's transformer, of the same weights, computes the same; a part moved, and it does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from references import shake
from torch import Tensor, nn
from writers import copy_block, copy_norm, encoder_decoder, padded

from zoo.components.block.base import Block, LayerContext
from zoo.components.block.post import Post
from zoo.components.block.pre import Pre
from zoo.components.norm.layer import LayerNorm
from zoo.components.pe.none import NoPositions
from zoo.components.tokens import Tokens
from zoo.models.encoder_decoder import EncoderDecoder
from zoo.registry import Registry

EQUAL = 1e-5
BROKEN = 1e-2  # what a broken twin is off by at least

BLOCKS = pytest.mark.parametrize("block", ["pre", "post"])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu"])
ATTENTIONS = pytest.mark.parametrize("attention", ["naive", "split", "packed", "fused", "torch"])
MEMORY = padded([[1, 2, 3, 4, 5], [6, 7], [8, 9, 1]], "right")
TARGET = padded([[5, 4, 3], [2, 1, 9, 8], [7, 6]], "right")


def off(ours: Tensor, theirs: Tensor, tokens: Tokens) -> float:
    """The greatest difference between real tokens."""
    return float((ours - theirs)[tokens.attention_mask].detach().abs().max())


def normals(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def one_block(registry: Registry, block: str, attention: str, activation: str) -> Block:
    """A decoder's first block, weights moved off their initial values."""
    model = encoder_decoder(registry, block=block, attention=attention, ffn=activation, pe="none")
    return shake(model).eval().decoder.blocks[0]


def torchs_layer(kind: type[nn.Module], block: str, activation: str) -> Any:
    return kind(8, 2, 12, 0.0, activation, batch_first=True, norm_first=block == "pre").double()


def future(length: int) -> Tensor:
    """torch's causal mask (L, L): True where a query may not look."""
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


@ATTENTIONS
@ACTIVATIONS
@BLOCKS
def test_a_block_is_torchs_encoder_layer(
    registry: Registry, block: str, attention: str, activation: str
) -> None:
    ours = one_block(registry, block, attention, activation)
    ours.cross = ours.cross_norm = None
    theirs = torchs_layer(nn.TransformerEncoderLayer, block, activation)
    copy_block(ours, theirs)
    _, tokens = MEMORY
    x = normals(3, 5, 8, seed=1)
    scene = LayerContext(tokens, NoPositions(dim=8, heads=2, head_dim=4, max_length=9))
    expected = theirs(x, src_key_padding_mask=~tokens.attention_mask)
    assert off(ours(x, scene), expected, tokens) < EQUAL
    causal = theirs(x, src_mask=future(5), src_key_padding_mask=~tokens.attention_mask)
    looking_back = LayerContext(tokens, scene.position, causal=True)
    assert off(ours(x, looking_back), causal, tokens) < EQUAL

    assert off(ours(x, looking_back), expected, tokens) > BROKEN
    flipped = LayerContext(Tokens(~tokens.attention_mask, tokens.positions), scene.position)
    assert off(ours(x, flipped), expected, tokens) > BROKEN
    with other_arrangement(ours):
        assert off(ours(x, scene), expected, tokens) > BROKEN


@ATTENTIONS
@ACTIVATIONS
@BLOCKS
def test_a_block_is_torchs_decoder_layer(
    registry: Registry, block: str, attention: str, activation: str
) -> None:
    ours = one_block(registry, block, attention, activation)
    theirs = torchs_layer(nn.TransformerDecoderLayer, block, activation)
    copy_block(ours, theirs)
    (_, tokens), (_, memory_tokens) = TARGET, MEMORY
    x, memory = normals(3, 4, 8, seed=1), normals(3, 5, 8, seed=2)
    nowhere = NoPositions(dim=8, heads=2, head_dim=4, max_length=9)

    def scene(**changes: Any) -> LayerContext:
        about = {"tokens": tokens, "memory_tokens": memory_tokens, "causal": True} | changes
        return LayerContext(position=nowhere, memory=memory, **about)

    expected = theirs(
        x,
        memory,
        tgt_mask=future(4),
        tgt_key_padding_mask=~tokens.attention_mask,
        memory_key_padding_mask=~memory_tokens.attention_mask,
    )
    assert off(ours(x, scene()), expected, tokens) < EQUAL

    assert off(ours(x, scene(causal=False)), expected, tokens) > BROKEN
    backwards = Tokens(tokens.attention_mask, -tokens.positions)
    assert off(ours(x, scene(tokens=backwards)), expected, tokens) > BROKEN
    flipped = Tokens(~memory_tokens.attention_mask, memory_tokens.positions)
    assert off(ours(x, scene(memory_tokens=flipped)), expected, tokens) > BROKEN
    with other_arrangement(ours):
        assert off(ours(x, scene()), expected, tokens) > BROKEN
    ours.cross_norm, ours.ffn_norm = ours.ffn_norm, ours.cross_norm
    assert off(ours(x, scene()), expected, tokens) > BROKEN


def test_cross_attention_the_other_way_round_has_the_length_of_the_source(
    registry: Registry,
) -> None:
    cross = one_block(registry, "post", "fused", "relu").cross
    x, memory = normals(3, 4, 8, seed=1), normals(3, 5, 8, seed=2)
    about = Tokens.whole(4)
    nowhere = NoPositions(dim=8, heads=2, head_dim=4, max_length=9)
    right = cross(x, context=memory, tokens=about, context_tokens=Tokens.whole(5), position=nowhere)
    assert right.shape == (3, 4, 8)
    out = cross(memory, context=x, tokens=Tokens.whole(5), context_tokens=about, position=nowhere)
    assert out.shape == (3, 5, 8)


def torchs_transformer(ours: EncoderDecoder, block: str) -> nn.Transformer:
    """Of the same weights; it ends both stacks with a norm, after post-norm blocks as well.

    The stacks are those that nn.Transformer builds itself, but for a warning.
    """
    kinds = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    reading, writing = (torchs_layer(kind, block, "relu") for kind in kinds)
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


@ATTENTIONS
@BLOCKS
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
