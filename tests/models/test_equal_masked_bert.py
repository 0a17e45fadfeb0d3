"""BERT's masked language model, of the same weights, gives the same logits."""

from __future__ import annotations

import math

import pytest
import torch
from references import shake
from small_models import padded
from test_equal_bert import CELL, EQUAL, TEXTS, our_bert

from zoo.config.sizes import Sizes
from zoo.models.architectures import MaskedLanguageModel
from zoo.models.build import build_masked_language_model
from zoo.registry import Registry
from zoo.registry.cell import Cell

transformers = pytest.importorskip("transformers", reason="compares with transformers")


@pytest.fixture(scope="module")
def bert() -> torch.nn.Module:
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
    return shake(transformers.BertForMaskedLM(config)).eval().double()


@pytest.mark.parametrize("attention", ["naive", "fused"])
@torch.no_grad()
def test_the_masked_language_model_is_berts(
    registry: Registry, bert: torch.nn.Module, attention: str
) -> None:
    sizes = Sizes(dim=16, layers=2, heads=4, ffn_dim=24, max_length=12)
    cell = Cell.parse(registry, {"attention": attention, **CELL})
    ours = build_masked_language_model(cell, sizes, vocab_size=20, seed=0).eval().double()
    ours.encoder = our_bert(registry, bert.bert, attention)
    for norm in norms(ours):
        norm.eps = 1e-5
    head = bert.cls.predictions
    linear, _, norm = ours.transform
    linear.load_state_dict(head.transform.dense.state_dict())
    # BERT's embeddings are ours times √D, and score the tokens.
    norm.weight.copy_(head.transform.LayerNorm.weight * math.sqrt(16))
    norm.bias.copy_(head.transform.LayerNorm.bias * math.sqrt(16))
    ours.bias.copy_(head.bias)
    ids, tokens = padded(TEXTS, "right")
    theirs = bert(ids, attention_mask=tokens.attention_mask.long()).logits
    real = tokens.attention_mask
    assert (ours(ids, tokens) - theirs)[real].abs().max() < EQUAL
    places = real.flatten().nonzero().flatten()[1::2]
    some = ours(ids, tokens, places)
    assert (some - theirs.flatten(0, 1)[places]).abs().max() < EQUAL
    ours.transform[1] = torch.nn.ReLU()
    assert (ours(ids, tokens) - theirs)[real].abs().max() > 1e-2


def norms(model: MaskedLanguageModel) -> list[torch.nn.Module]:
    """The encoder's layer norms, which the helper builds with BERT's usual epsilon."""
    return [m for m in model.encoder.modules() if hasattr(m, "eps")]
