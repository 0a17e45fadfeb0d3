"""No norm."""

from __future__ import annotations

from torch import Tensor, nn


class NoNorm(nn.Module):
    """The identity."""

    def __init__(self, dim: int) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return x
