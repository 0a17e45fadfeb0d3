"""torch's transformer, of the same weights, computes the same."""

from typing import Any

import torch
from references import assert_same, shake
from small_models import cells_of, copy_block, copy_norm, encoder_decoder, padded
from torch import Tensor, nn

from zoo.components.norm.layer import LayerNorm
from zoo.models.architectures import EncoderDecoder

AXES = {
    "block": ("pre", "post"),
    "attention": ("naive", "split", "packed", "fused", "torch"),
    "ffn": ("relu", "gelu"),
}
SOURCE, SOURCE_TOKENS = padded([[1, 2, 3, 4, 5], [6, 7], [8, 9, 1]], "right")
TARGET, TOKENS = padded([[5, 4, 3], [2, 1, 9, 8], [7, 6]], "right")
SOURCE_PADDING, PADDING = ~SOURCE_TOKENS.attention_mask, ~TOKENS.attention_mask


def torchs_layer(kind: type[nn.Module], block: str, ffn: str, **_: str) -> Any:
    return kind(8, 2, 12, 0.0, ffn, batch_first=True, norm_first=block == "pre").double()


def future(length: int) -> Tensor:
    """torch's causal mask (L, L): True where a query may not attend."""
    return nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64).isinf()


def torchs_transformer(ours: EncoderDecoder, cell: dict[str, str]) -> nn.Transformer:
    """Of the same weights; it ends both stacks with a norm, after post-norm blocks as well.

    The stacks are those that nn.Transformer builds itself, but for a warning.
    """
    kinds = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    reading, writing = (torchs_layer(kind, **cell) for kind in kinds)
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


@cells_of(AXES)
def test_an_encoder_decoder_is_torchs_transformer(registry, cell):
    ours = encoder_decoder(registry, pe="none", **cell)
    if cell["block"] == "post":
        ours.encoder.final_norm, ours.decoder.final_norm = LayerNorm(8), LayerNorm(8)
    shake(ours).eval()
    x = torchs_transformer(ours, cell)(
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
