"""A learned factor for every channel of what a sub-layer adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import Attention
from zoo.components.block.base import Block, Sublayer


class ScaledNorm(nn.Module):
    """The norm of one sub-layer, and the factors λ (D) of its output."""

    def __init__(self, norm: Callable[[], nn.Module], dim: int, initial: float) -> None:
        super().__init__()
        self.norm, self.factors = norm(), nn.Parameter(torch.full((dim,), initial))


@part(
    "block",
    "layer-scale",
    source="Touvron et al. 2021, CaiT, equation 4, https://arxiv.org/abs/2103.17239",
)
class LayerScale(Block):
    """Pre-norm, with a small learned factor for every channel of what is added.

    x + diag(λ) f(norm(x)) (Touvron et al. 2021, Going deeper with Image Transformers, eq. 4).

    initial: of every λ; None: by the number of layers as in section 2, 0.1 up to 18 layers, 1e-5 up
    to 24, 1e-6 beyond. A stack of such layers ends with a final norm.
    """

    final_norm = packs = True

    def __init__(
        self,
        attention: Attention,
        ffn: nn.Module | None,
        norm: Callable[[], nn.Module],
        *,
        initial: float | None = None,
        layer_count: int = 1,
        **options: Any,
    ) -> None:
        if initial is None:
            initial = 0.1 if layer_count <= 18 else 1e-5 if layer_count <= 24 else 1e-6
        dim = attention.heads * attention.head_dim
        super().__init__(attention, ffn, lambda: ScaledNorm(norm, dim, initial), **options)

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.drop(norm.factors * sublayer(norm.norm(x)))
