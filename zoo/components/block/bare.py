"""The sub-layers alone."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer
from zoo.registry.declarations import part


@part("block", "bare", lacks=("residual",))
class Bare(Block):
    """Norm and sub-layer alone, without the addition of the input.

    f(norm(x)), with no residual: there are no rows to select.
    """

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return self.drop(sublayer(norm(x)))
