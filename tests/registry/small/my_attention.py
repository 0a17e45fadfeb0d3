"""An attention in one file."""

from __future__ import annotations

from torch import Tensor

from zoo.components.attention.base import MultiHead, softmax_attend
from zoo.components.attention.projections import PackedProjection
from zoo.registry.declarations import part


@part("attention", "my-attention")
class MyAttention(MultiHead):
    """Softmax attention that a temperature makes softer.

    softmax(Q Kᵀ / (temperature · √Dh) + bias) V.
    """

    projection = PackedProjection

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, temperature: float = 2.0
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.temperature = temperature

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        return softmax_attend(q / self.temperature, k, v, mask, bias, dropout)
