"""The set-up for pools."""

from __future__ import annotations

from typing import Any

import torch

from zoo.components.pool.base import Pool
from zoo.conformance.setups.setup import BATCH, DIM, Case, ModuleSetup, normal, padded_mask


class PoolSetup(ModuleSetup):
    """Builds ``Pool(dim)`` and calls it with and without a mask."""

    passes = ("dim",)
    contract = Pool

    def make(self, dropout: float = 0.0) -> Any:
        """Build the pool."""
        return self.choice.build(DIM)

    def _cases(
        self, generator: torch.Generator, dtype: torch.dtype, length: int, texts: slice
    ) -> list[Case]:
        x = normal(generator, BATCH, length, DIM, dtype=dtype)[texts]
        mask, shape = padded_mask(length)[texts], (x.shape[0], DIM)
        return [
            Case("plain", (x,), lambda module, x: module(x, None), shape),
            Case("padded", (x,), lambda module, x: module(x, mask), shape, (mask,)),
        ]
