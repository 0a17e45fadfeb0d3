"""Residual post-norm."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer
from zoo.registry.declarations import part


@part("block", "res-post", source="Liu et al. 2022, section 3.2, https://arxiv.org/abs/2111.09883")
class ResPost(Block):
    """Norm of each sub-layer's output, before its input is added; a final norm.

    x + norm(f(x)) (Liu et al. 2022, "Swin Transformer V2", section 3.2).

    What a sub-layer adds has unit scale, whatever the scale of its input. The sum is not
    normalised, so the stack ends with a final norm.
    """

    final_norm = True

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.drop(norm(sublayer(x)))
