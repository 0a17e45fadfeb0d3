"""Attention by the angle between query and key."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext

LARGEST = math.log(100.0)


@part(
    "attention",
    "cosine",
    source="Liu et al. 2022, Swin Transformer V2, equation 2, https://arxiv.org/abs/2111.09883",
    lacks=("exact",),
)
class Cosine(Fused):
    """Softmax over the cosine of query and key, with a learned temperature per head.

    softmax(cos(q, k) / τ + bias) V, with a learned τ for each head.

    Liu et al. 2022, Swin Transformer V2, equation 2. As in the authors' code log(1/τ) is learned,
    1/τ is 10 at first, and never above 100 (τ at least 0.01).
    """

    no_weight_decay = ("log_scale",)

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.log_scale = nn.Parameter(torch.full((heads, 1, 1), math.log(10.0)))

    def adjust(
        self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor]:
        # Rotations keep norms, and the scores are divided by √Dh later.
        scale = self.log_scale.clamp_max(LARGEST).exp() * math.sqrt(self.head_dim)
        return F.normalize(q, dim=-1) * scale, F.normalize(k, dim=-1), v
