"""All sub-layers read the same input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import Attention
from zoo.components.block.base import Block, LayerContext, Sublayer


@part(
    "block",
    "parallel",
    source="Chowdhery et al. 2022, PaLM, section 2, https://arxiv.org/abs/2204.02311",
)
class Parallel(Block):
    """Attention and feed-forward network read the same input, and both are added.

    x + attention(norm(x)) + ffn(norm'(x)) (Chowdhery et al. 2022, PaLM, section 2).

    A cross-attention, which the paper does not have, is one more summand.
    shared_norm: one norm for all, as in PaLM and GPT-J; by default each sub-layer has its own, as
    in GPT-NeoX (Black et al. 2022, section 2.1), and so the parameters of ``pre``.
    """

    final_norm = packs = True

    def __init__(
        self,
        attention: Attention,
        ffn: nn.Module | None,
        norm: Callable[[], nn.Module],
        *,
        shared_norm: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(attention, ffn, nn.Identity if shared_norm else norm, **options)
        self.shared_norm = norm() if shared_norm else nn.Identity()

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        h, rows = self.shared_norm(x), layer.rows
        out = x[:, rows] + self.arrange(
            h, lambda h: self.attend(h, layer), self.attention_norm, slice(None)
        )
        if self.cross is not None:
            out = out + self.arrange(
                h, lambda h: self.cross_attend(h, layer), self.cross_norm, rows
            )
        if self.ffn is not None:
            out = out + self.arrange(h, lambda h: self.feed_forward(h, layer), self.ffn_norm, rows)
        return out

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        """What a sub-layer that is given these rows of x adds; ``forward`` takes the sum."""
        return self.drop(sublayer(norm(x[:, rows])))
