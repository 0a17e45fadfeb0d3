"""Softmax attention to the nearest tokens."""

from __future__ import annotations

from torch import Tensor

from zoo.components.attention.base import MultiHead, softmax_attend
from zoo.components.attention.projections import PackedProjection
from zoo.components.layer_context import LayerContext
from zoo.registry.declarations import part


@part("attention", "my-attention", adds=("order",), lacks=("cross",))
class MyAttention(MultiHead):
    """Softmax attention to the tokens at most ``size`` away.

    softmax(Q Kᵀ / √Dh + bias) V over the keys with |q position - k position| ≤ size.

    The base class projects, splits heads, rotates, and makes the mask and the bias.
    """

    projection = PackedProjection

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, size: int = 16) -> None:
        super().__init__(dim, heads, dropout=dropout)
        if size < 0:
            raise ValueError(f"size must be 0 or more, not {size}")
        self.size = size

    def mask_and_bias(
        self, q: Tensor, k: Tensor, layer: LayerContext
    ) -> tuple[Tensor | None, Tensor | None]:
        """Those of the base class, with a mask of the nearest keys (1 or B, 1, Lq, Lk)."""
        mask, bias = super().mask_and_bias(q, k, layer)
        queries, keys = layer.tokens.positions, layer.keys.positions  # (L) or (B, L)
        near = (queries[..., :, None] - keys[..., None, :]).abs() <= self.size
        near = near[None, None] if near.dim() == 2 else near[:, None]
        mask = near if mask is None else near & mask
        # A softmax over nothing would be NaN: what padding attends to is never read.
        return mask | ~mask.any(dim=-1, keepdim=True), bias

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The output of each head (B, H, Lq, Dh).

        q: (B, H, Lq, Dh); k, v: (B, H, Lk, Dh). mask: bool, True where a query may attend; bias:
        added to the scores; both broadcastable to (B, H, Lq, Lk), or None.
        """
        return softmax_attend(q, k, v, mask, bias, self.dropout if self.training else 0.0)
