"""One QKV linear layer and torch's fused kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.components.attention.base import MultiHead
from zoo.components.attention.projections import Packed


class Fused(MultiHead):
    """Never stores the (Lq, Lk) matrix (Dao et al. 2022, FlashAttention, algorithm 1)."""

    projection = Packed

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """See MultiHead.attend."""
        if bias is not None and mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        return F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask if bias is None else bias,
            dropout_p=self.dropout if self.training else 0.0,
        )
