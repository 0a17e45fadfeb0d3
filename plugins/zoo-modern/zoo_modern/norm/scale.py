"""Vectors scaled to one learned length."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part


@part(
    "norm",
    "scale",
    source="Nguyen and Salazar 2019, section 2.2, https://arxiv.org/abs/1910.05895",
    adds=("scale-invariant", "unit-rms"),
)
class ScaleNorm(nn.Module):
    """Vectors of one learned length.

    g · x / max(‖x‖, eps); g is one number, √D at first.

    Nguyen and Salazar 2019, Transformers without Tears, section 2.2.
    """

    def __init__(self, dim: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.length = nn.Parameter(torch.tensor(math.sqrt(dim)))

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return self.length * F.normalize(x, dim=-1, eps=self.eps)
