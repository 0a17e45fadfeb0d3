"""The greatest value of every channel."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.pool.base import Pool


@part(
    "pool", "max", source="Reimers and Gurevych 2019, section 3, https://arxiv.org/abs/1908.10084"
)
class Max(Pool):
    """The greatest value of every channel over real tokens.

    max_t x_td over real t, for every channel d (Reimers and Gurevych 2019, section 3).

    A text without real tokens gives zeros.
    """

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        if attention_mask is None:
            return x.amax(dim=1)
        greatest = x.masked_fill(~attention_mask[..., None], -torch.inf).amax(dim=1)
        return greatest.masked_fill(~attention_mask.any(dim=1)[:, None], 0)
