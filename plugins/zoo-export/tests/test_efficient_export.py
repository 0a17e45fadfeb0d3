"""Attentions that are computed alike for every length are exported with their logits."""

import pytest
from zoo_export.program import FORMATS, write_program

from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.registry.cell import Cell
from zoo.registry.loading import load

SIZES = Sizes(dim=12, layers=3, heads=2, ffn_dim=20, max_length=10, vocab_size=30)
REST = {"pe": "sin", "norm": "layer", "ffn": "gelu", "block": "pre", "pool": "mean"}
TORCH = FORMATS["torch"]


def export(attention, directory):
    cell = Cell.parse(load().registry, {"attention": attention, **REST})
    model = build_classifier(cell, SIZES, vocab_size=30, classes=3, seed=0).eval()
    return write_program(model, 30, SIZES.max_length, TORCH, directory / TORCH.file)


@pytest.mark.slow
def test_they_are_exported(tmp_path):
    compared = export("linear/performer/linformer(rank=4)", tmp_path)
    assert compared.difference <= 1e-4


def test_what_depends_on_the_length_is_refused(tmp_path):
    with pytest.raises(Exception, match="length"):
        export("window(size=2)", tmp_path)
