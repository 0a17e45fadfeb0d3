"""No feed-forward network."""

from __future__ import annotations

from zoo.registry.declarations import part


@part("ffn", "none")
def no_ffn(dim: int, hidden: int, dropout: float = 0.0) -> None:
    """No feed-forward network."""
