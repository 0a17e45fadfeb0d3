"""The rig for pools."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from zoo.components.pool.base import Pool
from zoo.conformance.setups.attention import padded_tokens
from zoo.conformance.setups.base import DIM, Case, ModuleRig, normal

BATCH = 3


class PoolRig(ModuleRig):
    """Builds ``Pool(dim)`` and calls it with and without padding."""

    passes = ("dim",)

    @property
    def contract(self) -> type:
        """See Rig.contract."""
        return Pool

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
        x = normal(self.generator(seed), BATCH, length, DIM, dtype=dtype)[texts]
        attention_mask = padded_tokens(length).attention_mask
        assert attention_mask is not None
        shape = (x.shape[0], DIM)

        def pool(attention_mask: Tensor | None) -> Any:
            return lambda module, x: module(x, attention_mask)

        return [
            Case("plain", (x,), pool(None), shape),
            Case("padded", (x,), pool(attention_mask[texts]), shape, (attention_mask[texts],)),
        ]
