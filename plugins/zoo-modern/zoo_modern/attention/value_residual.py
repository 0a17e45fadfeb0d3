"""Value residual: the first layer's values are added to those of all later layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext

NAME = "value-residual"


@part(
    "attention",
    "value-residual",
    source="Zhou et al. 2024, Value Residual Learning, https://arxiv.org/abs/2410.17897",
    lacks=("exact",),
)
class ValueResidual(Fused):
    """Values plus those of the first layer, in learned shares.

    softmax(Q Kᵀ / √Dh) (λ₁ V_first + λ₂ V), in the first layer softmax(Q Kᵀ / √Dh) V.

    Zhou et al. 2024, Value Residual Learning (ResFormer), section 3; λ₁ and λ₂ are learned and
    0.5 at first. V_first: of the first layer that has this attention; the cache keeps the sums.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, layer_index: int = 0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.no_weight_decay = ("shares",) if layer_index else ()
        self.shares = nn.Parameter(torch.full((2,), 0.5)) if layer_index else None

    def takes_packed(self, layer: LayerContext) -> bool:
        return False  # the last layer may be given texts, and the first values would be a row

    def adjust(
        self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor]:
        first = layer.shared.setdefault(NAME, v)
        if self.shares is None:
            return q, k, v
        return q, k, self.shares[0] * first + self.shares[1] * v
