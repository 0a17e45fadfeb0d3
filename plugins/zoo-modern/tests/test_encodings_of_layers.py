"""Which encodings a model has once, and which in every layer."""

import pytest
from zoo_modern.pe.rope_layers import LayeredRotary

from zoo.components.pe.base import PositionalEncoding
from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.registry.cell import Cell
from zoo.registry.loading import load

SIZES = Sizes(dim=8, layers=3, heads=2, ffn_dim=12, max_length=16, vocab_size=40)
USUAL = {"attention": "fused", "norm": "layer", "ffn": "gelu", "block": "pre", "pool": "mean"}


def encodings(pe):
    cell = Cell.parse(load().registry, {**USUAL, "pe": pe})
    model = build_classifier(cell, SIZES, vocab_size=40, classes=2, seed=0, dropout=0.0)
    found = [module for module in model.modules() if isinstance(module, PositionalEncoding)]
    return [one for one in found if type(one).__module__.startswith("zoo_modern")]


@pytest.mark.parametrize(
    ("pe", "count"),
    [("fire", 3), ("cope", 3), ("t5", 1), ("shaw", 1), ("kerple", 1), ("alibi-two-sided", 1)],
)
def test_layers_share_an_encoding_where_its_paper_does(pe, count):
    assert len(encodings(pe)) == count


def test_rope_layers_has_other_angles_in_other_layers():
    first, second, third = encodings("rope-layers(bases=(500.0, 30.0))")
    assert all(isinstance(one, LayeredRotary) for one in (first, second, third))
    slowest = [float(one.angles.frequencies[-1]) for one in (first, second, third)]
    assert slowest == pytest.approx([500**-0.5, 30**-0.5, 500**-0.5])
