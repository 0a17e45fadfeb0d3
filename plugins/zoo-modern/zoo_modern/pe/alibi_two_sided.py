"""Linear biases with learned slopes, of their own for each side of the query."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.pe.alibi import slopes
from zoo.components.pe.base import PositionalEncoding
from zoo_modern.pe.offsets import offsets, wide


@part(
    "pe",
    "alibi-two-sided",
    source="Lee et al. 2022, LittleBird, https://arxiv.org/abs/2210.11870",
    adds=("bias", "order", "directed"),
)
class TwoSidedAlibi(PositionalEncoding):
    """Scores lowered by distance, with learned slopes for each side.

    score -= β (i - j) for keys before the query, γ (j - i) for keys after it.

    Lee et al. 2022, LittleBird, bidirectional ALiBi, without its special case for the first token.
    β and γ are learned, one for each head, and begin as the slopes of ALiBi; all layers share them.
    """

    def __init__(self, *, dim: int, heads: int, head_dim: int, max_length: int) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.beta, self.gamma = (nn.Parameter(torch.tensor(slopes(heads))) for _ in range(2))

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Bias (H, Lq, Lk), or (B, H, Lq, Lk) for positions per text."""
        offset = offsets(q_positions, k_positions)[..., None, :, :]
        beta, gamma = (wide(slope)[:, None, None] for slope in (self.beta, self.gamma))
        return torch.where(offset < 0, beta * offset, -gamma * offset)
