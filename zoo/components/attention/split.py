"""Heads by a view, softmax written out: of three layers, of one, or a single head."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from zoo.components.attention.base import MultiHead, softmax_attend
from zoo.components.attention.projections import (
    PackedProjection,
    Projection,
    SeparateProjection,
)
from zoo.registry.declarations import part


@part(
    "attention",
    "split",
    source="Vaswani et al. 2017, section 3.2.2, https://arxiv.org/abs/1706.03762",
    adds=("exact", "map"),
)
class Split(MultiHead):
    """Exact attention, with a linear layer each for Q, K and V.

    softmax(Q Kᵀ / √Dh + bias) V, all heads in one batched product.
    """

    projection: ClassVar[type[Projection]] = SeparateProjection

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """softmax(Q Kᵀ / √Dh + bias) V of all heads at once."""
        return softmax_attend(q, k, v, mask, bias, self.dropout if self.training else 0.0)


@part(
    "attention",
    "packed",
    source="Vaswani et al. 2017, section 3.2.2, https://arxiv.org/abs/1706.03762",
)
class Packed(Split):
    """Exact attention, with one linear layer for Q, K and V.

    As ``split``, with [Q, K, V] = X W in one matrix product.
    """

    projection = PackedProjection


@part(
    "attention",
    "single",
    source="Vaswani et al. 2017, section 3.2.2, https://arxiv.org/abs/1706.03762",
    adds=("one-head",),
)
class Single(Split):
    """One head as wide as the model, whatever the number of heads.

    softmax(Q Kᵀ / √D) V (equation 1). heads is ignored, as ``one-head`` declares.
    """

    def __init__(self, dim: int, heads: int = 1, *, dropout: float = 0.0) -> None:
        super().__init__(dim, 1, dropout=dropout)
