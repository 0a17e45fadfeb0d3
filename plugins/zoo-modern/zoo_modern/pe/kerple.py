"""Scores lowered by a learned function of distance."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.pe.base import PositionalEncoding
from zoo_modern.pe.offsets import offsets, wide

LEAST = 0.01


@part(
    "pe",
    "kerple",
    source="Chi et al. 2022, section 4, https://arxiv.org/abs/2205.09921",
    adds=("bias", "order"),
)
class Kerple(PositionalEncoding):
    """Scores lowered by a learned logarithm or power of distance.

    score -= r₁ · ln(1 + r₂ |i - j|), or r₁ |i - j|^r₂ (Chi et al. 2022, KERPLE, section 4).

    kernel: 'log', where r₁ and r₂ are positive, or 'power', where r₂ is 2 at most as well. Two
    numbers a head, drawn between 0 and 2 or 1 and kept at 0.01 or more (the authors' code). All
    layers share them.
    """

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, kernel: str = "log"
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        if kernel not in ("log", "power"):
            raise ValueError(f"kernel must be 'log' or 'power', not {kernel!r}")
        self.kernel = kernel
        first, second = (2, 1) if kernel == "log" else (1, 2)
        self.r1 = nn.Parameter(first * torch.rand(heads))
        self.r2 = nn.Parameter(second * torch.rand(heads))
        self.after_step()

    @torch.no_grad()
    def after_step(self) -> None:
        """Keep the parameters where the kernel is defined."""
        for parameter, allowed in zip((self.r1, self.r2), self.allowed(), strict=True):
            parameter.copy_(allowed)

    def allowed(self) -> tuple[Tensor, Tensor]:
        """r₁ and r₂ (H), moved into the range in which the kernel is defined."""
        most = 2.0 if self.kernel == "power" else None
        return self.r1.clamp(min=LEAST), self.r2.clamp(min=LEAST, max=most)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Bias (H, Lq, Lk), or (B, H, Lq, Lk) for positions per text."""
        r1, r2 = (wide(r)[:, None, None] for r in self.allowed())
        distance = offsets(q_positions, k_positions).abs()[..., None, :, :].to(r1.dtype)
        return -r1 * ((r2 * distance).log1p() if self.kernel == "log" else distance**r2)
