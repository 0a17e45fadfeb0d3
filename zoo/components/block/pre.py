"""Pre-norm."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer


class Pre(Block):
    """x + f(norm(x)) (Xiong et al. 2020, figure 1b).

    The sum is not normalised, so the stack ends with a final norm.
    """

    final_norm = True

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.drop(sublayer(norm(x)))
