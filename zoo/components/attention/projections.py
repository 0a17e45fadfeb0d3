"""How q, k and v are projected: per head, by three layers, or by one packed layer.

All three compute the same function; they differ in the number and size of their matrix products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CanonicalWeights(NamedTuple):
    """Weights that every exact attention can load, whatever its own layout; applied as x Wᵀ + b.

    qkv: (3D, D), the matrices of q, k and v above one another; qkv_bias: (3D). out: (D, D), of the
    output; out_bias: (D).
    """

    qkv: Tensor
    qkv_bias: Tensor
    out: Tensor
    out_bias: Tensor

    @classmethod
    def draw(cls, dim: int) -> CanonicalWeights:
        """Xavier-uniform matrices (D, D) and zero biases from torch's default generator."""
        *qkv, out = (nn.init.xavier_uniform_(torch.empty(dim, dim)) for _ in range(4))
        return cls(torch.cat(qkv), torch.zeros(3 * dim), out, torch.zeros(dim))


class Projection(nn.Module, ABC):
    """Projects x (B, Lq, D) and context (B, Lk, D) to heads; built with (dim, heads).

    Its linear layers, in the order in which they are assigned, hold the rows of the matrices of
    q, k and v, in this order; one that is passed to an attention, built, may be anything.
    value_dim: the width of a value's head, where it is not that of queries and keys.
    """

    value_dim: int | None = None

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads

    @abstractmethod
    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return q (B, H, Lq, Dh) from x; k and v (B, Hk, Lk, Dh) from context, Hk dividing H."""

    @torch.no_grad()
    def load(self, weights: CanonicalWeights) -> None:
        """Copy the canonical weights into this layout."""
        layers = [layer for layer in self.modules() if isinstance(layer, nn.Linear)]
        rows = weights.qkv.chunk(len(layers)), weights.qkv_bias.chunk(len(layers))
        for layer, weight, bias in zip(layers, *rows, strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)

    def split(self, x: Tensor) -> Tensor:
        """(B, L, D) as heads (B, H, L, Dh), by a view."""
        heads: Tensor = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return heads


class PerHeadProjection(Projection):
    """A linear layer per head and projection, applied in a loop."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        self.q, self.k, self.v = (
            nn.ModuleList(nn.Linear(dim, dim // heads) for _ in range(heads)) for _ in range(3)
        )

    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (
            torch.stack([head(tokens) for head in layers], dim=1)
            for layers, tokens in ((self.q, x), (self.k, context), (self.v, context))
        )
        return q, k, v


class SeparateProjection(Projection):
    """Three linear layers, each for all heads at once."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.split(self.q(x)), self.split(self.k(context)), self.split(self.v(context))


class PackedProjection(Projection):
    """One linear layer for q, k and v of all heads."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """By one matrix product where context is x, by two elsewhere."""
        if context is x:
            q, k, v = self.qkv(x).chunk(3, dim=-1)
        else:
            dim = x.shape[-1]
            q = F.linear(x, self.qkv.weight[:dim], self.qkv.bias[:dim])
            k, v = F.linear(context, self.qkv.weight[dim:], self.qkv.bias[dim:]).chunk(2, dim=-1)
        return self.split(q), self.split(k), self.split(v)
