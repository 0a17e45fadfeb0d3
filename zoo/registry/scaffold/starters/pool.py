"""Maximum of each feature over real tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.pool.base import Pool


@part("pool", "my-pool")
class MyPool(Pool):
    """Maximum of each feature over real tokens.

    The maximum of each feature over real tokens; 0 for a text without any.
    """

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        """x (B, L, D) to (B, D).

        attention_mask: bool (B, L), True where a token is real; None: all are.
        """
        if attention_mask is None:
            return x.amax(dim=1)
        # Filled and not multiplied: padded positions may hold anything, NaN too.
        maximum = x.masked_fill(~attention_mask[..., None], -torch.inf).amax(dim=1)
        return maximum.masked_fill(~attention_mask.any(dim=1, keepdim=True), 0)
