"""Sub-layers that are left out of a text's pass by chance."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.block.arrangements import Pre
from zoo.components.block.base import Sublayer


@part(
    "block",
    "drop-path",
    source="Huang et al. 2016, section 3, https://arxiv.org/abs/1603.09382",
    adds=("random",),
)
class DropPath(Pre):
    """Pre-norm; each sub-layer is left out by chance, more often the deeper it is.

    x + b f(norm(x)) / (1 - p), b being 0 with probability p_l in layer l, and else 1.

    Huang et al. 2016, section 3: p_l = rate · l / layers for l from 1 (equation 4), or the same
    ``rate`` in all layers with schedule='uniform'. Drawn for every text and sub-layer, and scaled
    in training and not in evaluation, as in timm. ValueError for a rate outside of [0, 1).
    """

    packs = False  # chances are drawn for a text

    def __init__(
        self,
        *parts: Any,
        rate: float = 0.5,
        schedule: str = "linear",
        layer_index: int = 0,
        layer_count: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(*parts, **options)
        if not 0 <= rate < 1:
            raise ValueError(f"rate is a probability below 1, not {rate}")
        if schedule not in ("linear", "uniform"):
            raise ValueError(f"schedule must be linear or uniform, not {schedule!r}")
        self.chance = rate * (layer_index + 1) / layer_count if schedule == "linear" else rate

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        added = self.drop(sublayer(norm(x)))
        if self.training and self.chance > 0:
            kept = torch.rand(len(x), 1, 1, device=x.device) >= self.chance
            added = added * (kept / (1 - self.chance)).to(x.dtype)
        return x[:, rows] + added
