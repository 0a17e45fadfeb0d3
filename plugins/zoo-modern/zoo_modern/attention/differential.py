"""Differential attention: the difference of two softmax maps."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import softmax_weights
from zoo.components.attention.split import Packed
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext


@part(
    "attention",
    "differential",
    source="Ye et al. 2024, Differential Transformer, https://arxiv.org/abs/2410.05258",
    lacks=("exact", "map"),
)
class Differential(Packed):
    """The difference of two softmax maps, whose common noise cancels.

    (softmax(Q₁ K₁ᵀ / √d) - λ softmax(Q₂ K₂ᵀ / √d)) V, d = Dh / 2; normed per head, times 1 - λ₀.

    Ye et al. 2024, equations 1 to 3: λ = exp(q₁·k₁) - exp(q₂·k₂) + λ₀ with learned vectors, and
    λ₀ = 0.8 - 0.6 exp(-0.3 (l - 1)) in layer l, from 1. An encoding is given each half, of width
    d. Choice: dropout acts on the normed heads. Raises ValueError for an odd Dh.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, layer_index: int = 0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        if self.head_dim % 2:
            raise ValueError(f"differential attention needs an even head width, not {dim // heads}")
        self.position_dim = self.head_dim // 2
        self.initial = 0.8 - 0.6 * math.exp(-0.3 * layer_index)
        self.vectors = nn.Parameter(0.1 * torch.randn(4, self.position_dim))  # q₁, k₁, q₂, k₂
        self.norm = nn.RMSNorm(self.head_dim, eps=1e-5)

    def rotate(self, q: Tensor, k: Tensor, layer: LayerContext) -> tuple[Tensor, Tensor]:
        position, places, key_places = layer.position, layer.tokens.positions, layer.keys.positions
        q = torch.cat([position.rotate(half, places) for half in q.chunk(2, -1)], -1)
        k = torch.cat([position.rotate_keys(half, key_places) for half in k.chunk(2, -1)], -1)
        return q, k

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        one, two = zip(q.chunk(2, dim=-1), k.chunk(2, dim=-1), strict=True)
        added = self.mask_and_bias(*one, layer)
        first = softmax_weights(*one, *added)
        if layer.position.reads_content:  # else both halves have the same bias
            added = self.mask_and_bias(*two, layer)
        second = softmax_weights(*two, *added)
        q1, k1, q2, k2 = self.vectors
        share = (q1 @ k1).exp() - (q2 @ k2).exp() + self.initial
        heads = (1 - self.initial) * self.norm((first - share * second) @ v)
        return dropout(heads, self.dropout, self.training)
