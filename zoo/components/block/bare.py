"""The sub-layers alone."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer


class Bare(Block):
    """f(norm(x)), with no residual."""

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        """f(norm(x)); without a residual, no rows have to be selected."""
        return self.drop(sublayer(norm(x)))
