"""Sines and cosines of many wavelengths, added to the embeddings."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.pe.base import Angles, PositionalEncoding
from zoo.registry.declarations import part


@part(
    "pe",
    "sin",
    source="Vaswani et al. 2017, section 3.5, https://arxiv.org/abs/1706.03762",
    adds=("embed", "order"),
)
class Sinusoidal(PositionalEncoding):
    """Sines and cosines added to the embeddings.

    PE(pos, 2i) = sin(pos / base^(2i/D)), PE(pos, 2i+1) = cos(pos / base^(2i/D)).
    Raises ValueError for an odd width.
    """

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, base: float = 10000.0
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        if dim % 2:
            raise ValueError(f"sinusoidal positions need an even width, not {dim}")
        self.angles = Angles(dim, base)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        angles = self.angles(positions)  # (L or B, L; D / 2)
        wave = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
        return x + wave.to(x.dtype)
