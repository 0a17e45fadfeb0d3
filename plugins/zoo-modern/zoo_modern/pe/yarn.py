"""A rotary encoding stretched to a context longer than the one it was made for."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo import part
from zoo.components.pe.rope import Rotary


@part(
    "pe",
    "yarn",
    source="Peng et al. 2023, definitions 2 and 3, https://arxiv.org/abs/2309.00071",
    adds=("scaled",),
)
class Yarn(Rotary):
    """A rotary encoding stretched to a longer context than it was made for.

    RoPE with angles pos · h(θ_i), h(θ) = (1 - γ) θ / s + γ θ, γ from r = L θ / 2π.

    Peng et al. 2023, YaRN, definitions 2 and 3. γ is 0 below r = alpha, 1 above beta, and linear in
    r between; queries and keys are both multiplied by 0.1 ln(s) + 1, and their scores so by 1/t.
    s is ``factor``; L is ``length``, that of the shorter context; None: max_length / factor. In the
    authors' code γ is linear in i instead, between the same ends rounded to whole i.
    """

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        max_length: int,
        factor: float = 16.0,
        length: int | None = None,
        alpha: float = 1.0,
        beta: float = 32.0,
        base: float = 10000.0,
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length, base=base)
        if not factor >= 1:
            raise ValueError(f"factor must be at least 1, not {factor}")
        if not 0 <= alpha < beta:
            raise ValueError(f"alpha must be at least 0 and below beta, not {alpha} and {beta}")
        if length is not None and length < 1:
            raise ValueError(f"length must be at least 1, not {length}")
        theta = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        turns = (max_length / factor if length is None else length) * theta / (2 * math.pi)
        gamma = ((turns - alpha) / (beta - alpha)).clamp(0, 1)
        self.angles.frequencies = ((1 - gamma) * theta / factor + gamma * theta).float()
        self.scale = 0.1 * math.log(factor) + 1

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.scale * super().rotate(x, positions)
