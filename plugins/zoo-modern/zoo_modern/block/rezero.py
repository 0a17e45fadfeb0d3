"""Sub-layers that add nothing at first."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.block.base import Block, Sublayer


@part(
    "block",
    "rezero",
    source="Bachlechner et al. 2020, equation 2, https://arxiv.org/abs/2003.04887",
)
class ReZero(Block):
    """No norms; a learned factor of what is added, 0 at first.

    x + α f(x), with one learned α per layer, 0 at first (Bachlechner et al. 2020, equation 2).

    There are no norms. The sub-layers of a layer share α, as in the authors' RZTXEncoderLayer.
    """

    normed, packs = False, True

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.alpha = nn.Parameter(torch.zeros(()))

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.drop(self.alpha * sublayer(x))
