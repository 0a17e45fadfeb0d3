"""The pool contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn


class Pool(nn.Module, ABC):
    """Built as ``Pool(dim)``.

    reads: the positions of a text that it reads, None for all. Where it is known that padding
    stands behind the texts, the last layer computes only those of L; elsewhere the pool is given
    all of L and finds them by the mask.
    width: of its output (W); None for D.
    """

    reads: ClassVar[slice | None] = None
    width: int | None = None

    def __init__(self, dim: int) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        """x (B, L, D) and attention_mask (bool (B, L), True where real; None: all) to (B, W)."""
