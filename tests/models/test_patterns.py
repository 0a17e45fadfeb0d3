"""Components that take turns over the layers: each layer computes as its own components say."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import references
import torch
import torch.nn.functional as F
from references import assert_same, canonical, shake
from small_models import (
    SMALL,
    USUAL,
    Stubborn,
    assert_cache_changes_nothing,
    classifier,
    encoder_decoder,
    language_model,
    padded,
    some_ids,
)
from torch import Tensor

from zoo.components.attention.split import Split
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.models.stack import Encoder
from zoo.registry import Owner, Register, Registry

DIM, LENGTH = 8, 6
TEXTS = [[3, 1, 4, 1, 5], [2, 6], [5, 3, 5]]


class Near(Split):
    """Attention to the keys at most ``size`` positions away."""

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, size: int = 1) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.size = size

    def mask_and_bias(
        self, q: Tensor, k: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor | None]:
        mask, bias = super().mask_and_bias(q, k, layer)
        queries, keys = layer.tokens.positions, layer.keys.positions
        distance = (queries[..., :, None] - keys[..., None, :]).abs()
        near = distance <= self.size
        near = near if near.dim() == 2 else near[:, None]
        return (near if mask is None else mask & near), bias


@pytest.fixture
def parts(registry) -> Registry:
    """The built-in components, and two attentions that are unlike them."""
    register = Register(Owner("elsewhere", "1"))
    common = ("rotate", "bias", "padding", "causal")
    register(
        "attention",
        "near",
        Near,
        summary="",
        capabilities=(*common, "cross", "cache"),
        parameters={"size": 1},
    )
    register("attention", "alone", Stubborn, summary="", capabilities=common)
    registry.admit(register)
    return registry


def of_layer(pattern: str, layer: int) -> str:
    names = pattern.split("/")
    return names[layer % len(names)]


def normalised(x: Tensor, norm: Any, name: str) -> Tensor:
    if name == "layer":
        centred = x - x.mean(dim=-1, keepdim=True)
        spread = (centred.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt()
        return centred / spread * norm.scale + norm.shift
    return x / (x.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt() * norm.scale


def by_hand(encoder: Encoder, cell: dict[str, str], ids: Tensor) -> Tensor:
    """The encoder's output (B, L, D), sub-layer by sub-layer, in the formulas of the papers."""
    x = encoder.embedding.weight[ids] * math.sqrt(DIM)
    if "sin" in cell["pe"].split("/"):
        x = x + torch.stack([references.sinusoid(i, DIM) for i in range(ids.shape[1])])
    for layer, block in enumerate(encoder.blocks):
        own = {axis: of_layer(pattern, layer) for axis, pattern in cell.items()}
        reach = {"near": 1, "near(size=2)": 2}.get(own["attention"], LENGTH)
        allowed = [[abs(i - j) <= reach for j in range(LENGTH)] for i in range(LENGTH)]
        heads = 1 if own["attention"] == "single" else 2

        def attend(h: Tensor, block=block, own=own, heads=heads, allowed=allowed) -> Tensor:
            weights, places = canonical(block.attention), range(LENGTH)
            mask = [allowed] * len(h)
            return references.attention(h, h, weights, heads, own["pe"], mask, places, places)[0]

        def feed(h: Tensor, block=block, own=own) -> Tensor:
            inner = F.linear(h, block.ffn.inner.weight, block.ffn.inner.bias)
            raised = inner.clamp_min(0) if own["ffn"] == "relu" else F.gelu(inner)
            return F.linear(raised, block.ffn.outer.weight, block.ffn.outer.bias)

        sublayers: list[tuple[Callable[[Tensor], Tensor], Any]] = [(attend, block.attention_norm)]
        if own["ffn"] != "none":
            sublayers.append((feed, block.ffn_norm))
        for sublayer, norm in sublayers:
            if own["block"] == "pre":
                x = x + sublayer(normalised(x, norm, own["norm"]))
            else:
                x = normalised(x + sublayer(x), norm, own["norm"])
    last = len(encoder.blocks) - 1
    if of_layer(cell["block"], last) == "pre":
        x = normalised(x, encoder.final_norm, of_layer(cell["norm"], last))
    return x


@pytest.mark.parametrize(
    "changes",
    [
        {
            "attention": "near/near(size=2)/fused",
            "pe": "rope/sin/none",
            "norm": "layer/rms",
            "ffn": "relu/gelu/none",
            "block": "pre/post",
        },
        {"attention": "single/fused", "pe": "rope", "block": "pre/post/post"},
        {"attention": "fused/near/naive", "pe": "alibi/none", "norm": "rms/layer/layer"},
        {"pe": "none/none/sin", "ffn": "none/gelu"},
    ],
    ids=lambda cell: "+".join(cell.values()),
)
def test_a_hybrid_is_its_layers_written_out_by_hand(parts, changes):
    model = shake(classifier(parts, layers=3, max_length=LENGTH, **changes)).eval()
    ids = some_ids(2, LENGTH)
    cell = {**USUAL, **changes}
    weights = [p for p in model.encoder.parameters() if p.requires_grad]
    ours, expected = model.encoder(ids, Tokens.whole(LENGTH)), by_hand(model.encoder, cell, ids)
    assert_same(ours, expected, weights, tolerance=1e-6)  # the encodings' angles are float32


def test_exchanging_a_layers_component_leaves_all_other_weights_as_they_were(registry):
    before = classifier(registry, layers=3, pe="learned").state_dict()
    after = classifier(
        registry, layers=3, pe="learned", attention="fused/fused/naive", ffn="relu/none/relu"
    ).state_dict()
    common = before.keys() & after.keys()
    assert all(".2.attention" in name or ".1.ffn" in name for name in before.keys() - common)
    assert all(torch.equal(before[name], after[name]) for name in common)


def test_an_encoding_with_weights_is_shared_by_its_layers(registry):
    encoder = classifier(registry, layers=5, pe="rope/learned/none").encoder
    assert encoder.position_of_layer == [1, 0, 2, 1, 0]
    assert len([name for name in encoder.state_dict() if "table" in name]) == 1
    assert encoder.max_length == SMALL["max_length"]  # a learned table has an end
    one_wide = classifier(registry, layers=4, attention="single/fused", pe="learned").encoder
    assert len(one_wide.other_positions) == 0  # it does not depend on the width of a head


@pytest.mark.parametrize(
    ("layers", "norm"), [(3, "RMSNorm"), (4, "NoneType"), (5, "LayerNorm"), (6, "NoneType")]
)
def test_the_last_layer_decides_on_the_final_norm(registry, layers, norm):
    model = classifier(registry, layers=layers, block="pre/post", norm="layer/layer/rms")
    assert type(model.encoder.final_norm).__name__ == norm


@pytest.mark.parametrize(
    "cell",
    [
        {"attention": "near/fused", "pe": "rope/none"},
        {"attention": "single/fused/near", "pe": "alibi/rope"},
        {"pe": "learned/none/rope", "block": "pre/post", "ffn": "gelu/none"},
    ],
    ids=lambda cell: "+".join(cell.values()),
)
def test_each_layer_keeps_a_cache_of_its_own_attention(parts, cell):
    model = shake(language_model(parts, layers=4, **cell)).eval()
    ids, tokens = padded([[*text, 8, 2, 7, 1] for text in TEXTS], "left")
    expected = model(ids, tokens)
    cache = model.decoder.new_cache()
    steps = [slice(0, 5), slice(5, 6), slice(6, 9)]
    stepwise = torch.cat([model(ids[:, s], tokens[s], cache=cache) for s in steps], dim=1)
    real = tokens.attention_mask
    assert_same(stepwise[real], expected[real])
    for beams in (1, 3):
        assert_cache_changes_nothing(model, some_ids(2, 4), max_new=8, beams=beams)
    both = shake(encoder_decoder(parts, layers=4, **cell)).eval()
    assert_cache_changes_nothing(both, some_ids(2, 5), max_new=6)


def test_without_a_cache_in_one_layer_there_is_none(registry):
    model = shake(language_model(registry, attention="fused/torch", pe="sin")).eval()
    assert not model.decoder.caches
    with pytest.raises(ValueError, match="no cache"):
        model.decoder.new_cache()
    assert_cache_changes_nothing(model, some_ids(1, 3), max_new=5)


@pytest.mark.parametrize("attention", ["near/alone", "alone/near"])
def test_the_last_layer_decides_whether_all_positions_are_computed(parts, attention):
    """Fewer queries than keys take an attention with a context, and only the last one has fewer."""
    model = shake(classifier(parts, attention=attention, pool="cls")).eval()
    assert model.encoder.all_positions == attention.endswith("alone")
    batch = padded(TEXTS, "right")
    few = model(*batch)
    model.encoder.all_positions = True
    assert_same(few, model(*batch))
