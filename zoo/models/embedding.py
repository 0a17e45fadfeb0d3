"""Token ids to vectors whose size at the start is a choice."""

from __future__ import annotations

import math

from torch import Tensor, nn


class ScaledEmbedding(nn.Embedding):
    """√D · W[id], with W ~ N(0, σ²/D) (Vaswani et al. 2017, section 3.4, for σ = 1).

    With σ = 1 the vectors start as nn.Embedding's do, and learn √D times as fast at the same
    learning rate, which is what a model trained from scratch on a thousand documents needs.
    Where no norm follows, a small σ keeps words that training hardly saw from drowning the others.
    """

    def __init__(self, vocab_size: int, dim: int, std: float = 1.0) -> None:
        super().__init__(vocab_size, dim)
        self.scale = math.sqrt(dim)
        nn.init.normal_(self.weight, std=std / self.scale)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, L) to vectors (B, L, D)."""
        return super().forward(ids) * self.scale
