"""Rotary encoding: queries and keys are rotated by angles proportional to their position."""

from __future__ import annotations

import torch
from torch import Tensor

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
        angles = self.angles(positions)  # (L or B, L; Dh / 2)
        if angles.dim() == 3:
            angles = angles[:, None]  # the same for every head
        return turned(x, angles)


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """(x₂ᵢ + i · x₂ᵢ₊₁) · e^(i · angle), Su et al. 2021, equation 12, of every pair of numbers.

    x: (..., Dh). angles: (..., Dh / 2) in float32. On a CPU torch multiplies complex numbers in a
    quarter of the time of the four products; it cannot compile them, nor has it them in bfloat16.
    """
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    on_cpu = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    if on_cpu and not torch.compiler.is_compiling():
        # A copy, whose pairs lie side by side and begin at an even place.
        whole = x.clone(memory_format=torch.contiguous_format)
        pairs = torch.view_as_complex(whole.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
