"""Scores lowered by the logarithm of distance."""

from __future__ import annotations

from torch import Tensor

from zoo import part
from zoo.components.pe.base import PositionalEncoding


@part("pe", "my-pe", adds=("bias", "order"))
class MyEncoding(PositionalEncoding):
    """Scores lowered by the logarithm of distance.

    score -= strength · log(1 + |q position - k position|).

    An encoding has three slots, each the identity unless overridden. Override those that it uses,
    and declare them as capabilities:

        embed(x, positions) -> x                 added to embeddings    x (B, L, D)
        rotate(x, positions) -> x                applied to q and k     x (B, H, L, Dh)
        bias(q_positions, k_positions) -> bias   added to the scores    (H or 1, Lq, Lk) or None

    Positions: int (L), or (B, L) where each text has its own.
    """

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, strength: float = 1.0
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.strength = strength

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(1, Lq, Lk), or (B, 1, Lq, Lk) for positions (B, L); the same for every head."""
        distance = (q_positions[..., :, None] - k_positions[..., None, :]).abs()
        return -self.strength * distance.float().log1p()[..., None, :, :]
