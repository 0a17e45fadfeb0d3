"""A norm on both sides of each sub-layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import Attention
from zoo.components.block.base import Block, Sublayer


class BeforeAndAfter(nn.Module):
    """The two norms of one sub-layer."""

    def __init__(self, norm: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.before, self.after = norm(), norm()


@part(
    "block",
    "sandwich",
    source="Ding et al. 2021, CogView, section 2.4, https://arxiv.org/abs/2105.13290",
)
class Sandwich(Block):
    """A norm before and after each sub-layer, inside the residual.

    x + norm'(f(norm(x))) (Ding et al. 2021, CogView, section 2.4, "Sandwich-LN").

    What a sub-layer adds has unit scale, as in Gemma 2. The sum is not normalised, so the stack
    ends with a final norm.
    """

    final_norm = packs = True

    def __init__(
        self,
        attention: Attention,
        ffn: nn.Module | None,
        norm: Callable[[], nn.Module],
        **options: Any,
    ) -> None:
        super().__init__(attention, ffn, lambda: BeforeAndAfter(norm), **options)

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.drop(norm.after(sublayer(norm.before(x))))
