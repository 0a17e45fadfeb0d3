"""Parts over a row of several texts without padding, against the same texts with it."""

from __future__ import annotations

import pytest
import torch

from zoo.components.attention.fused import Fused
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.models.stack import Stack
from zoo.registry.cell import Cell
from zoo.registry.loading import load

SIZES = Sizes(dim=32, layers=2, heads=4, ffn_dim=64, max_length=12, vocab_size=50)
LENGTHS = torch.tensor([12, 3, 7])
PLAIN = {"attention": "fused", "pe": "rope", "norm": "layer", "ffn": "gelu", "block": "pre"}


@pytest.mark.parametrize(
    ("axes", "layers"),
    [
        ({"attention": "gqa", "ffn": "moe"}, 2),
        ({"attention": "mla", "norm": "group"}, 2),
        ({"attention": "gated", "pool": "cls"}, 1),  # the last layer gives one token of each text
        ({"attention": "qk-norm", "block": "parallel"}, 2),
        ({"attention": "value-residual/fused", "block": "macaron"}, 1),
        ({"attention": "value-residual", "pool": "cls"}, 0),
        ({"attention": "mamba2", "block": "sandwich"}, 0),
        ({"block": "deepnorm"}, 2),
        ({"block": "layer-scale"}, 2),
        ({"block": "rezero"}, 2),
        ({"block": "drop-path"}, 0),  # draws for a text
        ({"block": "hyper-connections", "pool": "cls"}, 0),
    ],
    ids=str,
)
def test_logits_and_gradients_are_equal(axes, layers, monkeypatch):
    rows, mix = [], Fused.mix

    def spied(self, q, k, v, layer):
        rows.extend([layer] if layer.tokens.packing else [])
        return mix(self, q, k, v, layer)

    monkeypatch.setattr(Fused, "mix", spied)
    cell = Cell.parse(load().registry, {**PLAIN, "pool": "mean", **axes})
    model = build_classifier(cell, SIZES, vocab_size=50, classes=3, seed=0).double().eval()
    mask = torch.arange(12) < LENGTHS[:, None]
    tokens = Tokens(mask, torch.arange(12), in_order=True, counted=(mask, int(LENGTHS.sum())))
    ids = torch.randint(2, 50, mask.shape, generator=torch.Generator().manual_seed(0))

    def passed(packs):
        monkeypatch.setattr(Stack, "packs", packs)
        model.zero_grad()
        logits = model(ids.masked_fill(~mask, 0), tokens)
        logits.square().sum().backward()
        return [logits.detach(), *(p.grad for p in model.parameters())]

    padded, packed = passed(False), passed(True)
    assert len(rows) == layers
    torch.testing.assert_close(packed, padded, rtol=1e-6, atol=1e-9)
