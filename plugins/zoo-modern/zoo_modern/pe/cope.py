"""Positions counted by content: each query decides which tokens count."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.pe.base import PositionalEncoding
from zoo_modern.pe.offsets import offsets, wide


@part(
    "pe",
    "cope",
    source="Golovneva et al. 2024, section 4, https://arxiv.org/abs/2405.18719",
    adds=("content-bias", "order"),
)
class Cope(PositionalEncoding):
    """Positions counted by content: each query decides which tokens count.

    score += q_i · e[p_ij], p_ij = Σ_{t=j..i} σ(q_i · k_t / √Dh), at most positions - 1.

    Golovneva et al. 2024, CoPE, section 4, and the listing in appendix B, which scales the gates
    and not q_i · e. Between two whole numbers e is interpolated. Each layer has its own e, which
    its heads share and which begins at 0. Only tokens that i may attend to are counted, and keys
    stand in the order of the text. The paper has only j ≤ i; for a later key, t goes from i to j.
    """

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        max_length: int,
        layer_index: int = 0,
        positions: int = 64,
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        if positions < 2:
            raise ValueError(f"positions must be at least 2, not {positions}")
        self.table = nn.Parameter(torch.zeros(positions, head_dim))

    def content_bias(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, mask: Tensor | None
    ) -> Tensor:
        place = self.places(q, k, offsets(q_positions, k_positions), mask)
        products = q @ self.table.T  # (B, H, Lq, positions)
        low, high = place.floor(), place.ceil()
        below, above = (products.gather(-1, row.long()) for row in (low, high))
        return torch.lerp(below, above, (place - low).to(products.dtype)).to(q.dtype)

    def places(self, q: Tensor, k: Tensor, offset: Tensor, mask: Tensor | None) -> Tensor:
        """p (B, H, Lq, Lk) in float32 or wider; offset: (Lq, Lk) or (B, Lq, Lk)."""
        offset = offset[:, None] if offset.dim() == 3 else offset  # the same for every head
        gates = wide(q @ k.mT / math.sqrt(q.shape[-1])).sigmoid()
        gates = gates if mask is None else gates.masked_fill(~mask, 0)
        up_to = gates.cumsum(dim=-1)  # to key j; next: to the query, and the gate of its own token
        up_to_query = (gates * (offset <= 0)).sum(dim=-1, keepdim=True)
        own = (gates * (offset == 0)).sum(dim=-1, keepdim=True)
        before, after = up_to_query - up_to + gates, up_to - up_to_query + own
        return torch.where(offset <= 0, before, after).clamp(0, len(self.table) - 1)
