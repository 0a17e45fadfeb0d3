"""Pre-norm."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer
from zoo.registry.declarations import part


@part("block", "pre", source="Xiong et al. 2020, figure 1b, https://arxiv.org/abs/2002.04745")
class Pre(Block):
    """Norm before each sub-layer, whose input is added after it; a final norm.

    x + f(norm(x)) (Xiong et al. 2020, figure 1b).

    The sum is not normalised, so the stack ends with a final norm.
    """

    final_norm = True

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.drop(sublayer(norm(x)))
