"""A rotary encoding of the first part of every head."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.pe.rope import Rotary


@part(
    "pe",
    "rope-partial",
    source="Black et al. 2022, section 2.1.1, https://arxiv.org/abs/2204.06745",
)
class PartialRotary(Rotary):
    """A rotary encoding of the first quarter of every head.

    The first ``share`` of a head's numbers rotated, the others left as they are.

    Black et al. 2022, GPT-NeoX-20B, section 2.1.1. The rotated width w is rounded down to an even
    number, 2 at least; the angles are pos · base^(-2i/w).
    """

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        max_length: int,
        share: float = 0.25,
        base: float = 10000.0,
    ) -> None:
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, not {share}")
        if head_dim < 2:
            raise ValueError(f"rotary positions need a head width of 2 or more, not {head_dim}")
        width = max(2, int(share * head_dim) // 2 * 2)
        super().__init__(dim=dim, heads=heads, head_dim=width, max_length=max_length, base=base)
        self.width = width

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        turned, others = x[..., : self.width], x[..., self.width :]
        return torch.cat([super().rotate(turned, positions), others], dim=-1)
