"""Token embeddings with a chosen initial scale."""

from __future__ import annotations

import math

from torch import Tensor, nn


class ScaledEmbedding(nn.Embedding):
    """√D · W[id], with W ~ N(0, σ²/D) (Vaswani et al. 2017, section 3.4, for σ = 1).

    With σ = 1 the vectors start like nn.Embedding's and learn √D times as fast at the same learning
    rate, as a model trained from scratch on a thousand documents needs. Where no norm follows, a
    small σ keeps rare words, which training hardly changes, from dominating the others.
    """

    def __init__(self, vocab_size: int, dim: int, std: float = 1.0) -> None:
        super().__init__(vocab_size, dim)
        self.scale = math.sqrt(dim)
        nn.init.normal_(self.weight, std=std / self.scale)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, L) to vectors (B, L, D)."""
        return super().forward(ids) * self.scale
