"""The set-ups for norms and feed-forward networks: (B, L, D) to (B, L, D)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn

from zoo.conformance.setups.setup import BATCH, DIM, HIDDEN, Case, ModuleSetup, normal


class NormSetup(ModuleSetup):
    """Builds ``Norm(dim)``."""

    passes: ClassVar[tuple[str, ...]] = ("dim",)
    contract: ClassVar[Any] = nn.Module

    def make(self, dropout: float = 0.0) -> Any:
        """Build the norm."""
        return self.choice.build(DIM)

    def _cases(
        self, generator: torch.Generator, dtype: torch.dtype, length: int, texts: slice
    ) -> list[Case]:
        x = 1 + 2 * normal(generator, BATCH, length, DIM, dtype=dtype)[texts]
        return [Case("plain", (x,), lambda module, x: module(x), tuple(x.shape))]


class FFNSetup(NormSetup):
    """Builds ``FFN(dim, hidden, dropout)``; None is a layer without a feed-forward network."""

    passes = ("dim", "hidden", "dropout")
    contract = nn.Module | None
    takes_dropout = True

    def make(self, dropout: float = 0.0) -> Any:
        """Build the network, or None."""
        return self.choice.build(DIM, HIDDEN, dropout)
