"""Three linear layers, heads by a view, softmax written out."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from zoo.components.attention.base import MultiHead, softmax_attend
from zoo.components.attention.projections import Projection, Separate


class Split(MultiHead):
    """softmax(Q Kᵀ / √Dh + bias) V, all heads in one batched product.

    Vaswani et al. 2017, section 3.2.2.
    """

    projection: ClassVar[type[Projection]] = Separate

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """softmax(Q Kᵀ / √Dh + bias) V of all heads at once."""
        return softmax_attend(q, k, v, mask, bias, self.dropout if self.training else 0.0)
