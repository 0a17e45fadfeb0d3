"""Root mean square normalisation."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.registry.declarations import part


@part(
    "norm",
    "rms",
    source="Zhang and Sennrich 2019, equation 4, https://arxiv.org/abs/1910.07467",
    adds=("scale-invariant", "unit-rms"),
)
class RMSNorm(nn.Module):
    """RMSNorm: unit root mean square, learned scale, no mean taken.

    x / √(mean(x²) + eps) · scale, over D (Zhang and Sennrich 2019, equation 4).
    """

    def __init__(self, dim: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return F.rms_norm(x, self.scale.shape, self.scale, self.eps)
