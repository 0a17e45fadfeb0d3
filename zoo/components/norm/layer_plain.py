"""Layer normalisation with nothing learned."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class PlainLayerNorm(nn.Module):
    """(x - mean) / √(var + eps), over D (Ba et al. 2016, equation 3, without gain and bias)."""

    def __init__(self, dim: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return F.layer_norm(x, (self.dim,), eps=self.eps)
