"""The rig for norms."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from zoo.conformance.setups.base import DIM, Case, ModuleRig, normal

BATCH = 3


class NormRig(ModuleRig):
    """Builds ``Norm(dim)`` and calls it on (B, L, D)."""

    passes = ("dim",)

    @property
    def contract(self) -> type:
        """See Rig.contract."""
        return nn.Module

    def make(self, dropout: float) -> Any:
        """See Rig.make."""
        return self.choice.build(DIM)

    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Case]:
        """See ModuleRig.cases."""
        x = 1 + 2 * normal(self.generator(seed), BATCH, length, DIM, dtype=dtype)[texts]
        return [Case("plain", (x,), lambda module, x: module(x), tuple(x.shape))]
