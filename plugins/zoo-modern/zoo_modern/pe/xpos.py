"""A rotary encoding whose scores decay with distance."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.pe.base import Angles
from zoo.components.pe.rope import Rotary


@part(
    "pe",
    "xpos",
    source="Sun et al. 2022, section 2.2, https://arxiv.org/abs/2212.10554",
    adds=("scaled",),
)
class XPos(Rotary):
    """A rotary encoding whose scores decay with distance (for causal models).

    Rotated pair i of a query at n times ζ_i^(n/scale), of a key at m times ζ_i^(-m/scale).

    ζ_i = (2i/Dh + γ) / (1 + γ), γ = 0.4 (Sun et al. 2022, a length-extrapolatable transformer,
    section 2.2 and algorithm 1). A score has the factor ζ_i^((n - m)/scale), which for keys after
    the query grows: the paper's models are causal. Both factors are counted from the middle of
    max_length, as in the authors' code, which leaves scores as they are and the factors moderate.
    """

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        max_length: int,
        scale: float = 512.0,
        base: float = 10000.0,
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length, base=base)
        if not scale > 0:
            raise ValueError(f"scale must be above 0, not {scale}")
        self.middle = max_length // 2
        zeta = (torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim + 0.4) / 1.4
        # Like angles multiples of the position, and like them never rounded to bfloat16.
        self.exponents = Angles(head_dim, base)
        self.exponents.frequencies = (zeta.log() / scale).float()

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().rotate(x, positions) * self.factors(positions, x)

    def rotate_keys(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().rotate(x, positions) / self.factors(positions, x)

    def factors(self, positions: Tensor, x: Tensor) -> Tensor:
        """ζ^(n/scale), the same for both of a pair: (L, Dh) or (B, 1, L, Dh), in the type of x."""
        factors: Tensor = self.exponents(positions - self.middle).exp()
        factors = factors.repeat_interleave(2, dim=-1)
        factors = factors[:, None] if factors.dim() == 3 else factors
        return factors.to(x.dtype)
