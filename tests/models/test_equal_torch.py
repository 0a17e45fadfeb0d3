"""torch's transformer, of the same weights, computes the same."""

from typing import Any

import pytest
import torch
from references import assert_same, randoms, shake
from small_models import cells_of, copy_block, copy_norm, encoder_decoder, padded
from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.norm.layer import LayerNorm
from zoo.components.pe.base import NoPositions
from zoo.models.architectures import EncoderDecoder
from zoo.registry import Registry

AXES = {
    "block": ("pre", "post"),
    "attention": ("naive", "split", "packed", "fused", "torch"),
    "ffn": ("relu", "gelu"),
}
NO_POSITIONS = NoPositions(dim=8, heads=2, head_dim=4, max_length=9)
SOURCE, SOURCE_TOKENS = padded([[1, 2, 3, 4, 5], [6, 7], [8, 9, 1]], "right")
TARGET, TOKENS = padded([[5, 4, 3], [2, 1, 9, 8], [7, 6]], "right")
SOURCE_PADDING, PADDING = ~SOURCE_TOKENS.attention_mask, ~TOKENS.attention_mask


def one_block(registry: Registry, cell: dict[str, str]) -> Block:
    """A decoder's first block, weights moved off their initial values."""
    model = encoder_decoder(registry, pe="none", **cell)
    return shake(model).eval().decoder.blocks[0]


def torchs_layer(kind: type[nn.Module], block: str, ffn: str = "relu", **_: str) -> Any:
    return kind(8, 2, 12, 0.0, ffn, batch_first=True, norm_first=block == "pre").double()


def future(length: int) -> Tensor:
    """torch's causal mask (L, L): True where a query may not attend."""
    return nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64).isinf()


@cells_of(AXES)
def test_a_block_is_torchs_encoder_layer(registry, cell):
    ours = one_block(registry, cell)
    ours.cross = ours.cross_norm = None
    theirs = torchs_layer(nn.TransformerEncoderLayer, **cell)
    copy_block(ours, theirs)
    x = randoms(3, 5, 8)
    for causal in (False, True):
        out = ours(x, LayerContext(SOURCE_TOKENS, NO_POSITIONS, causal=causal))
        mask = future(5) if causal else None
        expected = theirs(x, src_mask=mask, src_key_padding_mask=SOURCE_PADDING)
        assert_same(out[~SOURCE_PADDING], expected[~SOURCE_PADDING], [x])


@cells_of(AXES)
def test_a_block_is_torchs_decoder_layer(registry, cell):
    ours = one_block(registry, cell)
    theirs = torchs_layer(nn.TransformerDecoderLayer, **cell)
    copy_block(ours, theirs)
    x, memory = randoms(3, 4, 8), randoms(3, 5, 8, seed=2)
    context = LayerContext(
        TOKENS, NO_POSITIONS, causal=True, memory=memory, memory_tokens=SOURCE_TOKENS
    )
    expected = theirs(
        x,
        memory,
        tgt_mask=future(4),
        tgt_key_padding_mask=PADDING,
        memory_key_padding_mask=SOURCE_PADDING,
    )
    assert_same(ours(x, context)[~PADDING], expected[~PADDING], [x, memory])


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
def test_an_encoder_decoder_is_torchs_transformer(registry, block, attention):
    ours = encoder_decoder(registry, block=block, attention=attention, pe="none")
    if block == "post":
        ours.encoder.final_norm, ours.decoder.final_norm = LayerNorm(8), LayerNorm(8)
    shake(ours).eval()
    x = torchs_transformer(ours, block)(
        ours.encoder.embedding(SOURCE),
        ours.decoder.embedding(TARGET),
        tgt_mask=future(4),
        src_key_padding_mask=SOURCE_PADDING,
        tgt_key_padding_mask=PADDING,
        memory_key_padding_mask=SOURCE_PADDING,
    )
    expected = x @ ours.decoder.embedding.weight.T
    out = ours(SOURCE, SOURCE_TOKENS, TARGET, TOKENS)
    leaves = [ours.encoder.embedding.weight, ours.decoder.embedding.weight]
    assert_same(out[~PADDING], expected[~PADDING], leaves)
