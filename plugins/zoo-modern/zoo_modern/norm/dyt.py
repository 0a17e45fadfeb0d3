"""A scaled tanh in place of a norm."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part


@part("norm", "dyt", source="Zhu et al. 2025, section 4, https://arxiv.org/abs/2503.10622")
class DyT(nn.Module):
    """A scaled tanh of each number, no statistics.

    γ ⊙ tanh(α x) + β; α is one number, γ and β are vectors (Zhu et al. 2025, section 4).
    """

    def __init__(self, dim: int, *, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(float(alpha)))
        self.scale = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return self.scale * (self.alpha * x).tanh() + self.shift
