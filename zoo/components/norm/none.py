"""No norm."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.registry.declarations import part


@part("norm", "none")
class NoNorm(nn.Module):
    """No norm: the input as it is.

    The identity.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D)."""
        return x
