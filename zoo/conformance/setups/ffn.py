"""The rig for feed-forward networks."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from zoo.conformance.setups.base import DIM, HIDDEN, Case, ModuleRig, normal

BATCH = 3


class FfnRig(ModuleRig):
    """Builds ``FFN(dim, hidden, dropout)`` and calls it on (B, L, D)."""

    passes = ("dim", "hidden", "dropout")
    takes_dropout = True

    @property
    def contract(self) -> Any:
        """See Rig.contract; None stands for a layer without a feed-forward sub-layer."""
        return nn.Module | None

    def make(self, dropout: float) -> Any:
        """See Rig.make."""
        return self.choice.build(DIM, HIDDEN, dropout)

    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Case]:
        """See ModuleRig.cases."""
        x = normal(self.generator(seed), BATCH, length, DIM, dtype=dtype)[texts]
        return [Case("plain", (x,), lambda module, x: module(x), tuple(x.shape))]
