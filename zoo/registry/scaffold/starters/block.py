"""X + norm(sub-layer(x))."""

from __future__ import annotations

from torch import Tensor, nn

from zoo import part
from zoo.components.block.base import Block, Sublayer


@part("block", "my-block")
class MyBlock(Block):
    """X + norm(sub-layer(x)).

    x + norm(f(x)).

    The base class has the attention, the feed-forward network and a norm for each; ``arrange``
    combines one of them with its norm and residual. The sum is not normalised, so the stack needs
    a final norm.
    """

    final_norm = True

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        """Combine one sub-layer, its norm and its residual.

        x: (B, L, D). The sub-layer returns only the positions ``rows`` of L, so the residual adds
        ``x[:, rows]``. Returns (B, L, D), or those positions.
        """
        return x[:, rows] + self.drop(norm(sublayer(x)))
