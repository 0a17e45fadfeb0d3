"""A sequence cut into blocks of queries, each with the keys in reach of its window."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

LEAST = 64  # queries in a block; with fewer the matrix products would be too small


class Blocks:
    """N blocks of C queries; each has W keys: its own, and ``size`` more on either side.

    A text of at most W tokens is one block with all of its keys.
    """

    def __init__(self, length: int, size: int) -> None:
        self.length, self.size = length, min(size, length - 1)
        self.block, self.halo = max(LEAST, self.size), self.size
        if length <= self.block + 2 * self.halo:
            self.block, self.halo = length, 0
        self.fill = -length % self.block

    def queries(self, x: Tensor, dim: int) -> Tensor:
        """Dimension dim of length L as (N, C); zeros fill the last block."""
        blocks: Tensor = self._padded(x, dim, 0, self.fill).unflatten(dim, (-1, self.block))
        return blocks

    def keys(self, x: Tensor, dim: int) -> Tensor:
        """Dimension dim of length L as (N, W), zeros beyond either end; a view where possible."""
        padded = self._padded(x, dim, self.halo, self.halo + self.fill)
        windows = padded.unfold(dim, self.block + 2 * self.halo, self.block)
        return windows.movedim(-1, dim + 1)

    def join(self, x: Tensor, dim: int) -> Tensor:
        """Dimensions (N, C) at dim as one of length L."""
        return x.flatten(dim, dim + 1).narrow(dim, 0, self.length)

    def near(self, device: torch.device) -> Tensor:
        """Which keys exist and are at most ``size`` positions away: bool (N, C, W)."""
        rows = torch.arange(self.length, device=device)
        # Keys count from 1: 0 marks a place beyond either end.
        queries, keys = self.queries(rows, 0), self.keys(rows + 1, 0)
        away = (queries[:, :, None] + 1 - keys[:, None, :]).abs()
        return (away <= self.size) & (keys > 0)[:, None, :]

    @staticmethod
    def _padded(x: Tensor, dim: int, before: int, after: int) -> Tensor:
        after_dim = x.dim() - 1 - dim
        return F.pad(x, (*(0, 0) * after_dim, before, after))
