"""No norm."""

from __future__ import annotations

from torch import nn

from zoo.registry.declarations import part


@part("norm", "none")
def no_norm(dim: int) -> nn.Module:
    """No norm: the input as it is."""
    return nn.Identity()
