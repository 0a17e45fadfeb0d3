"""A linear layer per head and projection, head by head."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.attention.base import MultiHead, softmax_attend
from zoo.components.attention.projections import PerHeadProjection
from zoo.registry.declarations import part


@part(
    "attention",
    "naive",
    source="Vaswani et al. 2017, section 3.2.2, https://arxiv.org/abs/1706.03762",
    adds=("exact", "map"),
)
class Naive(MultiHead):
    """Exact attention head by head in a loop, each with linear layers of its own.

    softmax(Q_h K_hᵀ / √Dh + bias) V_h, head by head.
    """

    projection = PerHeadProjection

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """softmax(Q Kᵀ / √Dh + bias) V, one head after another."""
        dropout = self.dropout if self.training else 0.0
        biases: list[Tensor | None] = [bias] * self.heads  # one for all, or one each
        if bias is not None and bias.shape[-3:-2] == (self.heads,):
            biases = list(bias.split(1, dim=-3))
        heads = zip(*(x.split(1, dim=1) for x in (q, k, v)), biases, strict=True)
        outputs = [softmax_attend(q, k, v, mask, own, dropout) for q, k, v, own in heads]
        return torch.cat(outputs, dim=1)
