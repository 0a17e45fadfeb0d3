"""Token ids to vectors of about unit size."""

from __future__ import annotations

import math

from torch import Tensor, nn


class ScaledEmbedding(nn.Embedding):
    """√D · W[id], with W ~ N(0, 1/D) (Vaswani et al. 2017, section 3.4).

    The vectors start as nn.Embedding's do, and learn √D times as fast at the same learning rate,
    which is what a model trained from scratch on a thousand documents needs.
    """

    def __init__(self, vocab_size: int, dim: int) -> None:
        super().__init__(vocab_size, dim)
        self.scale = math.sqrt(dim)
        nn.init.normal_(self.weight, std=1 / self.scale)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, L) to vectors (B, L, D)."""
        return super().forward(ids) * self.scale
