"""Post-norm."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer
from zoo.registry.declarations import part


@part("block", "post", source="Vaswani et al. 2017, section 3.1, https://arxiv.org/abs/1706.03762")
class Post(Block):
    """Norm after each addition of a sub-layer's input, as in 2017.

    norm(x + f(x)) (Vaswani et al. 2017, section 3.1).
    """

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        out: Tensor = norm(x[:, rows] + self.drop(sublayer(x)))
        return out
