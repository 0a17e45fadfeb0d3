"""Rotary encoding: queries and keys are rotated by angles proportional to their position."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.one_pass import once
from zoo.components.pe.base import Angles, PositionalEncoding
from zoo.registry.declarations import part


@part(
    "pe",
    "rope",
    source="Su et al. 2021, RoFormer, equation 34, https://arxiv.org/abs/2104.09864",
    adds=("rotate", "order"),
)
class Rotary(PositionalEncoding):
    """Rotary: queries and keys rotated by their position.

    (x₂ᵢ, x₂ᵢ₊₁) rotated by pos · base^(-2i/Dh), so that scores depend on offsets only.
    Raises ValueError for an odd head width.
    """

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, base: float = 10000.0
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        if head_dim % 2:
            raise ValueError(f"rotary positions need an even head width, not {head_dim}")
        self.angles = Angles(head_dim, base)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        dtype = torch.promote_types(x.dtype, torch.float32)
        if x.device.type == "mps" or torch.compiler.is_compiling():
            return turned(x, self.turns(positions, dtype))
        turns = torch.view_as_complex(once(self.turns, positions, dtype))
        # A copy, whose pairs lie side by side and begin at an even place.
        whole = x.to(dtype, copy=True, memory_format=torch.contiguous_format)
        pairs = torch.view_as_complex(whole.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)

    def turns(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Cosine and sine of each pair's angle: (L, Dh / 2, 2), or (B, 1, L, Dh / 2, 2)."""
        angles = self.angles(positions)  # (L or B, L; Dh / 2)
        if angles.dim() == 3:
            angles = angles[:, None]  # the same for every head
        return torch.stack([angles.cos(), angles.sin()], dim=-1).to(dtype)


def turned(x: Tensor, turns: Tensor) -> Tensor:
    """(x₂ᵢ + i · x₂ᵢ₊₁) · e^(i · angle), Su et al. 2021, equation 12, of every pair of numbers.

    x: (..., Dh). turns: (..., Dh / 2, 2), cosines and sines. By real products: torch cannot compile
    complex ones, which take a quarter of the time and fewer kernels.
    """
    cos, sin = turns.to(x.dtype).unbind(-1)
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
