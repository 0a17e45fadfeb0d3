"""Layer normalisation, with learned scale and shift or without."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.registry.declarations import part


@part(
    "norm",
    "layer",
    source="Ba et al. 2016, Layer Normalization, https://arxiv.org/abs/1607.06450",
    adds=("scale-invariant", "unit-variance"),
)
class LayerNorm(nn.Module):
    """Layer norm: zero mean, unit variance, learned scale and shift.

    (x - mean) / √(var + eps) · scale + shift, over D (Ba et al. 2016, equations 3 and 4).
    """

    def __init__(self, dim: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


@part(
    "norm",
    "layer-plain",
    source="Ba et al. 2016, Layer Normalization, https://arxiv.org/abs/1607.06450",
    adds=("scale-invariant", "unit-variance"),
)
class PlainLayerNorm(nn.Module):
    """Layer norm without the learned scale and shift.

    (x - mean) / √(var + eps), over D (Ba et al. 2016, equation 3, without gain and bias).
    """

    def __init__(self, dim: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return F.layer_norm(x, (self.dim,), eps=self.eps)
