"""Layer normalisation within groups of the width."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part


@part(
    "norm",
    "group",
    source="Wu and He 2018, section 3, https://arxiv.org/abs/1803.08494",
    adds=("scale-invariant", "unit-variance"),
)
class GroupNorm(nn.Module):
    """Zero mean and unit variance within groups of the width.

    (x - mean) / √(var + eps) · scale + shift; mean and var of D / groups neighbours in D.

    Wu and He 2018, Group Normalization, section 3, for a single position: no
    token influences another. The paper's 32 groups are for images' widths of 64 and more. Raises
    ValueError for a width that does not divide into the groups, or into groups of one number.
    """

    def __init__(self, dim: int, *, groups: int = 4, eps: float = 1e-5) -> None:
        super().__init__()
        if groups < 1 or dim % groups or dim == groups:
            raise ValueError(f"width {dim} does not divide into {groups} groups of 2 or more")
        self.groups, self.eps = groups, eps
        self.scale = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        rows = x.reshape(-1, x.shape[-1])
        return F.group_norm(rows, self.groups, self.scale, self.shift, self.eps).view(x.shape)
