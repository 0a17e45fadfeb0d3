"""The positional encoding contract: three slots, each the identity unless overridden."""

from __future__ import annotations

from torch import Tensor, nn


class PositionalEncoding(nn.Module):
    """Built as ``PositionalEncoding(dim=, heads=, head_dim=, max_length=)``.

    One object serves all layers that have it; what it adds to the embeddings, it adds once.
    Positions are arguments, so that packed batches, single query positions and decoding all work.
    """

    def __init__(self, *, dim: int, heads: int, head_dim: int, max_length: int) -> None:
        super().__init__()

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Embeddings x (B, L, D) plus a vector for each position (L) or (B, L)."""
        return x

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Queries or keys x (B, H, L, Dh) rotated by their positions (L) or (B, L)."""
        return x

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """What is added to the scores, broadcastable to (B, H, Lq, Lk); None for nothing."""
        return None
