"""The angles of sinusoidal and rotary encodings."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


class Angles(nn.Module):
    """position · base^(-2i/width) for i = 0 .. width/2 - 1 (Vaswani et al. 2017, section 3.5).

    Raises ValueError for a base of 1 or less, whose wavelengths would not grow.
    """

    frequencies: Tensor

    def __init__(self, width: int, base: float) -> None:
        super().__init__()
        if not base > 1:
            raise ValueError(f"base must be above 1, not {base}")
        frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        self.register_buffer("frequencies", frequencies.float(), persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        """Positions (L) or (B, L) to angles (L, width / 2) or (B, L, width / 2)."""
        return positions[..., None] * self.frequencies

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Angles:
        """Follow the model's device and type, but stay in float32 or wider.

        In bfloat16 the angle of position 500 would be off by whole radians.
        """
        exact = self.frequencies
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if torch.finfo(self.frequencies.dtype).bits < 32:
            self.frequencies = exact.to(self.frequencies.device)
        return self
