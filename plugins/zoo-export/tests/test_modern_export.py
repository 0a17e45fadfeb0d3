"""Parts of every kind, in one model, are exported with their logits."""

import pytest
from zoo_export.program import FORMATS, write_program

from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.registry.cell import Cell
from zoo.registry.loading import load

SIZES = Sizes(dim=12, layers=3, heads=2, ffn_dim=20, max_length=10, vocab_size=30)
CELL = {
    "attention": "gqa(kv_heads=1)/differential/qk-norm",
    "pe": "rope-partial/t5/yarn",
    "norm": "dyt/scale",
    "ffn": "geglu/relu2",
    "block": "sandwich/parallel",
    "pool": "attention",
}


@pytest.mark.slow
def test_they_are_exported(tmp_path):
    cell, form = Cell.parse(load().registry, CELL), FORMATS["torch"]
    assert not cell.refusal(SIZES, {"attention": {"padding"}})
    model = build_classifier(cell, SIZES, vocab_size=30, classes=3, seed=0).eval()
    compared = write_program(model, 30, SIZES.max_length, form, tmp_path / form.file)
    assert compared.difference <= 1e-4
