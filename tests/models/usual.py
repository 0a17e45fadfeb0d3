"""The small model that tests of models vary."""

from __future__ import annotations

USUAL = {
    "attention": "fused",
    "pe": "rope",
    "norm": "layer",
    "ffn": "relu",
    "block": "pre",
    "pool": "mean",
}
SMALL = {"dim": 8, "layers": 2, "heads": 2, "hidden": 12, "max_length": 16}
