"""One QKV linear layer and torch's fused kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.components.attention.base import MultiHead
from zoo.components.attention.projections import PackedProjection
from zoo.registry.declarations import part


@part(
    "attention",
    "fused",
    source="Dao et al. 2022, FlashAttention, algorithm 1, https://arxiv.org/abs/2205.14135",
    adds=("exact", "map"),
)
class Fused(MultiHead):
    """As packed, with PyTorch's kernel scaled_dot_product_attention.

    softmax(Q Kᵀ / √Dh + bias) V; the (Lq, Lk) scores are never stored.

    A causal call without padding or bias builds no (Lq, Lk) mask either: the kernel has a causal
    mode. Its memory is linear in L, where torch has a fused kernel for device and precision.
    """

    projection = PackedProjection
    causal_kernel = True

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        *,
        causal: bool = False,
    ) -> Tensor:
        if bias is not None and mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        added = mask if bias is None else bias
        dropout = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, added, dropout, is_causal=causal)
