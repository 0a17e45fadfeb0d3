"""No feed-forward network."""

from __future__ import annotations


def no_ffn(dim: int, hidden: int, dropout: float = 0.0) -> None:
    """None: the layer has no feed-forward sub-layer."""
