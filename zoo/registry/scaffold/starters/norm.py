"""Unit mean absolute value, learned scale."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part


@part("norm", "my-norm", adds=("scale-invariant",))
class MyNorm(nn.Module):
    """Unit mean absolute value, learned scale.

    x / (mean |x| + eps) · scale, over D.
    """

    def __init__(self, dim: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return x / (x.abs().mean(dim=-1, keepdim=True) + self.eps) * self.scale
