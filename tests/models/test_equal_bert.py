"""BERT, of the same weights, computes the same: hidden states and the logits of masked tokens."""

import math

import pytest
import torch
from references import assert_same, shake
from small_models import load_norm, padded

from zoo.components.attention.projections import CanonicalWeights
from zoo.components.norm.layer import LayerNorm
from zoo.config.sizes import Sizes
from zoo.models.architectures import MaskedLanguageModel
from zoo.models.build import build_masked_language_model
from zoo.registry import Registry
from zoo.registry.cell import Cell

transformers = pytest.importorskip("transformers", reason="compares with transformers")

CELL = {"pe": "learned", "norm": "layer", "ffn": "gelu", "block": "post", "pool": "cls"}
SIZES = Sizes(dim=16, layers=2, heads=4, ffn_dim=24, max_length=12)


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
        layer_norm_eps=1e-5,
        attn_implementation="eager",
    )
    return shake(transformers.BertForMaskedLM(config)).eval()


@torch.no_grad()
def our_bert(registry: Registry, bert: torch.nn.Module, attention: str) -> MaskedLanguageModel:
    """Our model with BERT's weights.

    Our embeddings are scaled by √D and BERT's are not, so the weights are divided by it; they score
    the tokens too. Its vector for the first of two sentences is added to every token, so it goes
    into the positions.
    """
    cell = Cell.parse(registry, {"attention": attention, **CELL})
    ours = build_masked_language_model(cell, SIZES, vocab_size=20, seed=0).eval()
    encoder, theirs, scale = ours.encoder, bert.bert.embeddings, math.sqrt(16)
    encoder.embedding_norm = LayerNorm(16)
    ours.double()
    encoder.embedding.weight.copy_(theirs.word_embeddings.weight / scale)
    encoder.position.table.weight.copy_(
        theirs.position_embeddings.weight + theirs.token_type_embeddings.weight[0]
    )
    load_norm(encoder.embedding_norm, theirs.LayerNorm)
    for block, layer in zip(encoder.blocks, bert.bert.encoder.layer, strict=True):
        own, out = layer.attention.self, layer.attention.output
        qkv = (own.query, own.key, own.value)
        weights, biases = (torch.cat([getattr(m, n) for m in qkv]) for n in ("weight", "bias"))
        block.attention.load_canonical(
            CanonicalWeights(weights, biases, out.dense.weight, out.dense.bias)
        )
        load_norm(block.attention_norm, out.LayerNorm)
        block.ffn.inner.load_state_dict(layer.intermediate.dense.state_dict())
        block.ffn.outer.load_state_dict(layer.output.dense.state_dict())
        load_norm(block.ffn_norm, layer.output.LayerNorm)
    head, (linear, _, norm) = bert.cls.predictions, ours.transform
    linear.load_state_dict(head.transform.dense.state_dict())
    norm.weight.copy_(head.transform.LayerNorm.weight * scale)
    norm.bias.copy_(head.transform.LayerNorm.bias * scale)
    ours.bias.copy_(head.bias)
    return ours


@pytest.mark.parametrize("attention", ["naive", "split", "packed", "fused", "torch"])
@torch.no_grad()
def test_hidden_states_and_logits_are_berts(registry, bert, attention):
    ours = our_bert(registry, bert, attention)
    ids, tokens = padded([[1, 2, 3, 4, 5, 6], [7, 8], [9, 10, 11, 12]], "right")
    real = tokens.attention_mask
    theirs = bert(ids, attention_mask=real.long(), output_hidden_states=True)
    assert_same(ours.encoder(ids, tokens)[real], theirs.hidden_states[-1][real], tolerance=1e-5)
    assert_same(ours(ids, tokens)[real], theirs.logits[real], tolerance=1e-5)
    places = real.flatten().nonzero().flatten()[1::2]
    expected = theirs.logits.flatten(0, 1)[places]
    assert_same(ours(ids, tokens, places), expected, tolerance=1e-5)
