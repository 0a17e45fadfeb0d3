"""Layer normalisation: with scale and shift, without them, and as one tutorial has it."""

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


@part(
    "norm",
    "layer-std",
    source="Rush 2018, The Annotated Transformer, https://aclanthology.org/W18-2509",
    adds=("unbiased",),
    lacks=("unit-variance",),
)
class StdLayerNorm(LayerNorm):
    """Layer norm by the standard deviation over D - 1, plus epsilon.

    (x - mean) / (std + eps) · scale + shift; std divides by D - 1 (Rush 2018, LayerNorm).

    Raises ValueError for a width below 2, whose unbiased deviation is undefined.
    """

    def __init__(self, dim: int, *, eps: float = 1e-6) -> None:
        super().__init__(dim, eps=eps)
        if dim < 2:
            raise ValueError(f"an unbiased deviation needs a width of 2 or more, not {dim}")

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        mean, std = x.mean(dim=-1, keepdim=True), x.std(dim=-1, keepdim=True)
        return (x - mean) / (std + self.eps) * self.scale + self.shift
