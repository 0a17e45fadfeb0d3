"""Softmax attention with a sharpness."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo import part
from zoo.components.attention.base import MultiHead
from zoo.components.attention.projections import Packed
from zoo.components.dropout import dropout


@part("attention", "my-attention")
class MyAttention(MultiHead):
    """Softmax attention with a sharpness.

    softmax(sharpness · Q Kᵀ / √Dh + bias) V.

    The base class projects, splits heads, rotates, and makes the mask and the bias. ``projection``
    may be Packed, Separate or PerHead: the same function with another layout of the weights.
    """

    projection = Packed

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, sharpness: float = 1.0
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        if sharpness <= 0:
            raise ValueError(f"sharpness must be above 0, not {sharpness}")
        self.sharpness = sharpness

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The output of each head (B, H, Lq, Dh).

        q: (B, H, Lq, Dh); k, v: (B, H, Lk, Dh); q and k are rotated already. mask: bool, True
        where a query may attend. bias: added to the scores. Both are broadcastable to
        (B, H, Lq, Lk), with two to four dimensions, or None.
        """
        scores = self.sharpness * (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return dropout(scores.softmax(dim=-1), self.dropout, self.training) @ v
