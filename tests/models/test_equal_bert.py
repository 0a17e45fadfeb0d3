"""BERT, of the same weights, computes the same; a part moved, and it does not."""

from __future__ import annotations

import math

import pytest
import torch
from references import shake
from small_models import padded
from torch import Tensor

from zoo.components.attention.projections import CanonicalWeights
from zoo.components.block.post import Post
from zoo.components.block.pre import Pre
from zoo.components.norm.layer import LayerNorm
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.models.stack import Encoder
from zoo.registry import Registry
from zoo.registry.cell import Cell

transformers = pytest.importorskip("transformers", reason="compares with transformers")

EQUAL = 1e-5
BROKEN = 1e-2  # the least difference of a model with one part changed
CELL = {"pe": "learned", "norm": "layer(eps=1e-12)", "ffn": "gelu", "block": "post", "pool": "cls"}
TEXTS = [[1, 2, 3, 4, 5, 6], [7, 8], [9, 10, 11, 12]]


@pytest.fixture(scope="module")
def bert() -> torch.nn.Module:
    """A small one, every weight drawn at random and none of them initial."""
    config = transformers.BertConfig(
        vocab_size=20,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        max_position_embeddings=12,
        attn_implementation="eager",
    )
    model = transformers.BertModel(config, add_pooling_layer=False)
    return shake(model).eval()


def our_bert(registry: Registry, bert: torch.nn.Module, attention: str) -> Encoder:
    """Our encoder with BERT's weights.

    Our embeddings are scaled by √D and BERT's are not, so the weights are divided by it. Its vector
    for the first of two sentences is added to every token, so it goes into the positions.
    """
    sizes = Sizes(dim=16, layers=2, heads=4, ffn_dim=24, max_length=12)
    cell = Cell.parse(registry, {"attention": attention, **CELL})
    encoder = build_classifier(cell, sizes, vocab_size=20, classes=2, seed=0).encoder.eval()
    encoder.embedding_norm = LayerNorm(16, eps=1e-12)
    encoder.double()
    theirs = bert.embeddings
    with torch.no_grad():
        encoder.embedding.weight.copy_(theirs.word_embeddings.weight / math.sqrt(16))
        encoder.position.table.weight.copy_(
            theirs.position_embeddings.weight + theirs.token_type_embeddings.weight[0]
        )
        copy(theirs.LayerNorm, encoder.embedding_norm)
        for block, layer in zip(encoder.blocks, bert.encoder.layer, strict=True):
            own, out = layer.attention.self, layer.attention.output
            linears = (own.query, own.key, own.value, out.dense)
            block.attention.load_canonical(
                CanonicalWeights(*(one.weight for one in linears), *(one.bias for one in linears))
            )
            copy(out.LayerNorm, block.attention_norm)
            block.ffn.inner.load_state_dict(layer.intermediate.dense.state_dict())
            block.ffn.outer.load_state_dict(layer.output.dense.state_dict())
            copy(layer.output.LayerNorm, block.ffn_norm)
    return encoder


def copy(theirs: torch.nn.LayerNorm, ours: LayerNorm) -> None:
    ours.scale.copy_(theirs.weight)
    ours.shift.copy_(theirs.bias)


def off(ours: Tensor, theirs: Tensor, tokens: Tokens) -> float:
    """The greatest difference between real tokens."""
    return float((ours - theirs)[tokens.attention_mask].abs().max())


@pytest.mark.parametrize("attention", ["naive", "split", "packed", "fused", "torch"])
@torch.no_grad()
def test_the_encoder_is_bert(registry: Registry, bert: torch.nn.Module, attention: str) -> None:
    encoder = our_bert(registry, bert, attention)
    ids, tokens = padded(TEXTS, "right")
    theirs = bert(ids, attention_mask=tokens.attention_mask.long()).last_hidden_state
    assert off(encoder(ids, tokens), theirs, tokens) < EQUAL

    flipped = Tokens(~tokens.attention_mask, tokens.positions)
    assert off(encoder(ids, flipped), theirs, tokens) > BROKEN
    unmasked = Tokens(None, tokens.positions)
    assert off(encoder(ids, unmasked), theirs, tokens) > BROKEN
    shifted = Tokens(tokens.attention_mask, tokens.positions + 1)
    assert off(encoder(ids, shifted), theirs, tokens) > BROKEN
    for block in encoder.blocks:
        assert type(block) is Post
        block.__class__ = Pre
        assert off(encoder(ids, tokens), theirs, tokens) > BROKEN
        block.__class__ = Post
    encoder.embedding_norm, encoder.final_norm = None, encoder.embedding_norm
    assert off(encoder(ids, tokens), theirs, tokens) > BROKEN
