"""Attention to the best keys of each query alone."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.attention.split import Split
from zoo.components.dropout import dropout
from zoo_modern.attention.masked_scores import masked_scores


@part(
    "attention",
    "top-k",
    source="Zhao et al. 2019, Explicit Sparse Transformer, https://arxiv.org/abs/1912.11637",
    lacks=("exact", "map"),
)
class TopK(Split):
    """Softmax over the largest scores of each query.

    softmax over the ``keys`` largest scores of each query; all other weights are 0.

    Zhao et al. 2019, Explicit Sparse Transformer, section 3, with k = 8. Keys whose scores
    equal the smallest of them are taken too. All scores are computed: it saves no time.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, keys: int = 8) -> None:
        super().__init__(dim, heads, dropout=dropout)
        if type(keys) is not int or keys < 1:
            raise ValueError(f"keys must be a whole number of at least 1, not {keys!r}")
        self.keys = keys

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        scores = masked_scores(q, k, mask, bias)
        best = scores.detach().topk(min(self.keys, scores.shape[-1]), dim=-1).values
        weights = scores.masked_fill(scores < best[..., -1:], -torch.inf).softmax(dim=-1)
        return dropout(weights, self.dropout, self.training) @ v
