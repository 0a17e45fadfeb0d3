"""A scaled and shifted error function in place of a norm."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part


@part("norm", "derf", source="Chen et al. 2025, https://arxiv.org/abs/2512.10938")
class Derf(nn.Module):
    """A scaled and shifted error function of each number, no statistics.

    γ ⊙ erf(α x + s) + β; α and s are one number each, γ and β vectors.

    Chen et al. 2025, Stronger Normalization-Free Transformers; γ and β as in DyT.
    """

    def __init__(self, dim: int, *, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha, self.inner_shift = (
            nn.Parameter(torch.tensor(alpha)),
            nn.Parameter(torch.tensor(0.0)),
        )
        self.scale = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return self.scale * (self.alpha * x + self.inner_shift).erf() + self.shift
