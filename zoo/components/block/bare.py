"""The sub-layers alone."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer


class Bare(Block):
    """f(norm(x)), with no residual; the norm before, where there is one."""

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        """See Block.arrange; without a residual, rows is the sub-layer's business alone."""
        return self.drop(sublayer(norm(x)))
