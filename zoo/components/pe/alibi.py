"""Attention with linear biases, by distance."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo.components.pe.base import PositionalEncoding
from zoo.registry.declarations import part


def slopes(heads: int) -> list[float]:
    """A slope per head: 2^(-8 h / H) for h = 1 .. H where H is a power of two.

    Press et al. 2022, section 3. Other H: those of the power of two below, and then every second
    one of the power above (the authors' code).
    """
    power = 2 ** math.floor(math.log2(heads))
    even = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    between = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
    return even + between[: heads - power]


@part(
    "pe",
    "alibi",
    source="Press et al. 2022, section 3, https://arxiv.org/abs/2108.12409",
    adds=("bias", "order"),
)
class Alibi(PositionalEncoding):
    """Attention scores lowered in proportion to distance, on both sides.

    score -= slope · |q position - k position| (Press et al. 2022, section 3).

    The paper's decoder has offsets of one sign only. In an encoder a signed offset would favour
    later tokens, so the absolute distance is used.
    """

    slopes: Tensor

    def __init__(self, *, dim: int, heads: int, head_dim: int, max_length: int) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Bias (H, Lq, Lk), or (B, H, Lq, Lk) for positions per text."""
        distance = (q_positions[..., :, None] - k_positions[..., None, :]).abs()
        return -self.slopes[:, None, None] * distance[..., None, :, :]
