"""Attention between two halves of a feed-forward network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import Attention
from zoo.components.block.arrangements import Pre
from zoo.components.block.base import LayerContext


@part("block", "macaron", source="Lu et al. 2019, Macaron Net, https://arxiv.org/abs/1906.02762")
class Macaron(Pre):
    """Attention between two halves of a feed-forward network.

    x' = x + ½ FFN(x), x'' = x' + attention(x'), y = x'' + ½ FFN'(x'') (Lu et al. 2019).

    Each sub-layer reads its input through a norm, as in a Conformer (Gulati et al. 2020, equation
    1). Choice: the stack has one final norm, where a Conformer has one after every layer. Both
    networks are as wide as others' one; the paper halves them, to keep the number of parameters.
    """

    def __init__(
        self,
        attention: Attention,
        ffn: nn.Module | None,
        norm: Callable[[], nn.Module],
        *,
        make_ffn: Callable[[], nn.Module | None],
        **options: Any,
    ) -> None:
        super().__init__(attention, ffn, norm, **options)
        self.first_ffn = make_ffn()
        self.first_norm = norm() if self.first_ffn is not None else None

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        if self.first_ffn is not None:
            everywhere = replace(layer, read=None)  # the attention reads all positions
            x = self.arrange(
                x,
                lambda h: self.feed_forward(h, everywhere, self.first_ffn),
                self.first_norm,
                slice(None),
            )
        return super().forward(x, layer)

    def feed_forward(self, h: Tensor, layer: LayerContext, ffn: nn.Module | None = None) -> Tensor:
        return 0.5 * super().feed_forward(h, layer, ffn)
