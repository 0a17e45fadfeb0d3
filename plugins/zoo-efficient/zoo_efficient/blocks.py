"""A row of tokens cut into blocks of queries, each with the keys that its window reaches."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

LEAST = 64  # queries in a block; with fewer the matrix products would be too small


class Blocks:
    """N blocks of C queries; each sees W keys: its own, and ``size`` more on either side.

    A text that is hardly longer than that is one block with all of its keys.
    """

    def __init__(self, length: int, size: int) -> None:
        self.length, self.size = length, min(size, length - 1)
        self.block, self.halo = max(LEAST, self.size), self.size
        if length <= self.block + 2 * self.halo:
            self.block, self.halo = length, 0
        self.fill = -length % self.block

    def queries(self, x: Tensor, dim: int) -> Tensor:
        """Dimension dim, L long, as (N, C); zeros fill the last block."""
        blocks: Tensor = self._padded(x, dim, 0, self.fill).unflatten(dim, (-1, self.block))
        return blocks

    def keys(self, x: Tensor, dim: int) -> Tensor:
        """Dimension dim, L long, as (N, W); zeros stand beyond either end. A view, where it can."""
        padded = self._padded(x, dim, self.halo, self.halo + self.fill)
        windows = padded.unfold(dim, self.block + 2 * self.halo, self.block)
        return windows.movedim(-1, dim + 1)

    def join(self, x: Tensor, dim: int) -> Tensor:
        """Dimensions (N, C) at dim as one, L long again."""
        return x.flatten(dim, dim + 1).narrow(dim, 0, self.length)

    def near(self, device: torch.device) -> Tensor:
        """Which keys are at most ``size`` rows away, and are rows at all: bool (N, C, W)."""
        rows = torch.arange(self.length, device=device)
        # Counted from 1, so that the zeros beyond either end are no row.
        queries, keys = self.queries(rows, 0), self.keys(rows + 1, 0)
        away = (queries[:, :, None] + 1 - keys[:, None, :]).abs()
        return (away <= self.size) & (keys > 0)[:, None, :]

    @staticmethod
    def _padded(x: Tensor, dim: int, before: int, after: int) -> Tensor:
        behind = x.dim() - 1 - dim
        return F.pad(x, (*(0, 0) * behind, before, after))
