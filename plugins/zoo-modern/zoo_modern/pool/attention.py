"""Means over real tokens whose weights are learned."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.pool.base import Pool


@part(
    "pool",
    "attention",
    source="Yang et al. 2016, equations 5 to 7, https://aclanthology.org/N16-1174",
)
class AttentionPool(Pool):
    """A mean over real tokens with learned weights.

    Σ_t a_t x_t, a = softmax over real t of uᵀ tanh(W x_t + b).

    Yang et al. 2016, Hierarchical Attention Networks, equations 5 to 7. A text without real tokens
    gives zeros.
    """

    queries = 1

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.inner, self.score = nn.Linear(dim, dim), nn.Linear(dim, self.queries, bias=False)

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        if attention_mask is not None:
            x = x.masked_fill(~attention_mask[..., None], 0)
        scores = self.score(self.inner(x).tanh())  # (B, L, queries)
        if attention_mask is not None:
            # A text without real tokens keeps its scores: the softmax of -inf alone is NaN.
            hidden = ~attention_mask & attention_mask.any(dim=1, keepdim=True)
            scores = scores.masked_fill(hidden[..., None], -torch.inf)
        return (scores.softmax(dim=1).mT @ x).flatten(1)
