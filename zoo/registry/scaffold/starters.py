"""What the templates of each kind say beside their code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Starter:
    """The component a new plug-in starts from.

    suffix: ends the name of its class. rival: a built-in to compare it with. summary: what it
    computes as written. capabilities and parameters: as in ``register``, in Python.
    """

    suffix: str
    rival: str
    summary: str
    capabilities: str = ""
    parameters: str = ""


STARTERS = {
    "attention": Starter(
        "Attention",
        "fused",
        "softmax attention with a sharpness",
        '"rotate", "bias", "padding", "causal", "cross", "cache"',
        '"sharpness": 1.0',
    ),
    "pe": Starter(
        "Positions",
        "rope",
        "scores lowered by the logarithm of distance",
        '"bias", "order"',
        '"strength": 1.0',
    ),
    "norm": Starter(
        "Norm",
        "rms",
        "unit mean absolute value, learned scale",
        '"scale-invariant",',
        '"eps": 1e-6',
    ),
    "ffn": Starter("FFN", "gelu", "two linear layers with Mish between"),
    "block": Starter(
        "Block",
        "pre",
        "norm after each sub-layer, residual around both",
        '"residual", "cross"',
    ),
    "pool": Starter("Pool", "mean", "the greatest value over real tokens"),
}
