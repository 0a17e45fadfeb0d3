"""Where a layer's norms and residuals stand: four arrangements of a sub-layer f."""

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

    final_norm = packs = True

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.drop(sublayer(norm(x)))


@part("block", "post", source="Vaswani et al. 2017, section 3.1, https://arxiv.org/abs/1706.03762")
class Post(Block):
    """Norm after each addition of a sub-layer's input, as in 2017.

    norm(x + f(x)) (Vaswani et al. 2017, section 3.1).
    """

    packs = True

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        out: Tensor = norm(x[:, rows] + self.drop(sublayer(x)))
        return out


@part("block", "bare", lacks=("residual",))
class Bare(Block):
    """Norm and sub-layer alone, without the addition of the input.

    f(norm(x)), with no residual: there are no rows to select.
    """

    packs = True

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return self.drop(sublayer(norm(x)))


@part("block", "res-post", source="Liu et al. 2022, section 3.2, https://arxiv.org/abs/2111.09883")
class ResPost(Block):
    """Norm of each sub-layer's output, before its input is added; a final norm.

    x + norm(f(x)) (Liu et al. 2022, "Swin Transformer V2", section 3.2).

    What a sub-layer adds has unit scale, whatever the scale of its input. The sum is not
    normalised, so the stack ends with a final norm.
    """

    final_norm = packs = True

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.drop(norm(sublayer(x)))
