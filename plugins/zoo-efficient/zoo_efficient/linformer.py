"""Linformer: keys and values projected along the length."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import PackedProjection
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo_efficient.padding import hide, ranks
from zoo_efficient.whole_numbers import at_least


@part(
    "attention",
    "linformer",
    source="Wang et al. 2020, Linformer, https://arxiv.org/abs/2006.04768",
    adds=("padding", "order", "fixed-length"),
    lacks=("cache",),
)
class Linformer(ProjectedAttention):
    """Keys and values projected from L rows to a fixed few.

    softmax(Q (E K)ᵀ / √Dh) (F V), with E and F learned and of shape (rank, max_length).

    Wang et al. 2020, section 4, equation 7. Exact for this formula; equal to softmax
    attention where E and F are the identity.
    Cost: L · rank · Dh per head in time, L · rank in memory.
    Choices: E and F differ, and all heads share them (the paper's headwise sharing); both start
    from N(0, 1 / max_length). Padding counts as zero, and the j-th column of E and F belongs to
    the j-th real token, so that padding may stand anywhere. A rank above max_length adds nothing.
    Raises ValueError for more than max_length positions.
    """

    projection = PackedProjection

    def __init__(
        self, dim: int, heads: int, *, max_length: int, dropout: float = 0.0, rank: int = 64
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.max_length = at_least("max_length", 1, max_length)
        shape = (max_length, at_least("rank", 1, rank))
        self.e, self.f = (nn.Parameter(torch.randn(shape) / max_length**0.5) for _ in range(2))

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        """The output of each head (B, H, Lq, Dh)."""
        length = k.shape[-2]
        if length > self.max_length:
            raise ValueError(f"attention 'linformer' takes {self.max_length} tokens, not {length}")
        return F.scaled_dot_product_attention(
            q,
            self._project(self.e, hide(k, layer.keys), layer.keys),
            self._project(self.f, hide(v, layer.keys), layer.keys),
            dropout_p=self.dropout if self.training else 0.0,
        )

    def _project(self, e: Tensor, x: Tensor, tokens: Tokens) -> Tensor:
        """E X: (B, H, L, Dh) to (B, H, rank, Dh)."""
        length = x.shape[-2]
        if tokens.attention_mask is None:
            return e[:length].T @ x
        rank, _ = ranks(tokens, length, x.device)
        columns = F.embedding(rank, e)  # (B, L, rank)
        return columns[:, None].transpose(-2, -1) @ x
