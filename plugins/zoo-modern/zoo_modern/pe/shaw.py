"""A learned vector for each clipped offset, compared with the query."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.pe.base import PositionalEncoding
from zoo_modern.pe.offsets import offsets


@part(
    "pe",
    "shaw",
    source="Shaw et al. 2018, equation 4, https://arxiv.org/abs/1803.02155",
    adds=("content-bias", "order"),
)
class Shaw(PositionalEncoding):
    """Queries compared with a learned vector for each clipped offset.

    score += q_i · a[clip(j - i, -k, k)] / √Dh, k = reach.

    Shaw et al. 2018, equation 4, section 3.2. Of the paper's two tables this is the one for keys:
    the one for values changes what attention mixes, not its scores, and the keys' alone does as
    well (section 4.3). All heads and layers share a.
    """

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, reach: int = 16
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        if reach < 1:
            raise ValueError(f"reach must be at least 1, not {reach}")
        self.reach = reach
        self.table = nn.Parameter(torch.empty(2 * reach + 1, head_dim))
        nn.init.xavier_uniform_(self.table)

    def content_bias(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, mask: Tensor | None
    ) -> Tensor:
        products = q @ self.table.T / math.sqrt(q.shape[-1])  # (B, H, Lq, 2 · reach + 1)
        rows = offsets(q_positions, k_positions).clamp(-self.reach, self.reach) + self.reach
        rows = rows[:, None] if rows.dim() == 3 else rows  # the same for every head
        return products.gather(-1, rows.expand(*q.shape[:3], k.shape[2]))
