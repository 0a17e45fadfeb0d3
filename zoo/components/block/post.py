"""Post-norm."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer


class Post(Block):
    """norm(x + f(x)) (Vaswani et al. 2017, section 3.1)."""

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        out: Tensor = norm(x[:, rows] + self.drop(sublayer(x)))
        return out
