"""The texts that the templates insert for each kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Starter:
    """The component a new plug-in starts from.

    suffix: of its class name. compare_with: a built-in of the same kind. summary: what it computes
    as written. capabilities, parameters: the arguments of ``register``, as Python source.
    """

    suffix: str
    compare_with: str
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
    "ffn": Starter("FFN", "gelu", "two linear layers with Mish in between"),
    "block": Starter(
        "Block",
        "pre",
        "x + norm(sub-layer(x))",
        '"residual", "cross"',
    ),
    "pool": Starter("Pool", "mean", "maximum of each feature over real tokens"),
}
