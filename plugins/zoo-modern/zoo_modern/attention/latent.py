"""Multi-head latent attention: keys and values from a small latent, which is what is cached."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.fused import Fused
from zoo.components.attention.projections import Projection
from zoo.components.layer_context import LayerContext
from zoo_modern.attention.whole_numbers import at_least


class Compressed(Projection):
    """Queries of width Dh + R, one key to be rotated of width R for all heads, and the latent."""

    def __init__(self, dim: int, heads: int, rotated: int, kv_rank: int, q_rank: int) -> None:
        super().__init__(dim, heads)
        self.value_dim, self.kv_rank, self.rotated = dim // heads, kv_rank, rotated
        self.q_down = nn.Linear(dim, q_rank, bias=False)
        self.q_norm = nn.RMSNorm(q_rank, eps=1e-6)
        self.q_up = nn.Linear(q_rank, heads * (self.value_dim + rotated), bias=False)
        self.kv_down = nn.Linear(dim, kv_rank + rotated, bias=False)
        self.kv_norm = nn.RMSNorm(kv_rank, eps=1e-6)
        self.kv_up = nn.Linear(kv_rank, 2 * dim, bias=False)

    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q (B, H, Lq, Dh + R), the key to be rotated (B, 1, Lk, R), the latent (B, 1, Lk, r)."""
        q = self.split(self.q_up(self.q_norm(self.q_down(x))))
        latent, turned = self.kv_down(context)[:, None].split([self.kv_rank, self.rotated], dim=-1)
        return q, turned, self.kv_norm(latent)

    def expand(self, latent: Tensor) -> tuple[Tensor, ...]:
        """The latent (B, 1, L, r) to keys and values (B, H, L, Dh)."""
        return self.split(self.kv_up(latent[:, 0])).chunk(2, dim=-1)


@part(
    "attention",
    "mla",
    source="DeepSeek-AI 2024, DeepSeek-V2, section 2.1, https://arxiv.org/abs/2405.04434",
    lacks=("content-bias", "exact"),
)
class Latent(Fused):
    """Multi-head latent: keys and values from a small latent, which is cached.

    softmax((Q_C K_Cᵀ + Q_R K_Rᵀ) / √(Dh + R)) V, K_C and V from a latent c = X W_c of width r.

    DeepSeek-AI 2024, DeepSeek-V2, section 2.1, equations 9 to 19; the RMS norms of the latents are
    those of section 3.1.2. Q_R and K_R are what the encoding rotates; K_R is one key for all heads.
    The cache keeps c and K_R, r + R numbers for each token. kv_rank: r; q_rank: the width of the
    queries' latent. None is the paper's 4 Dh and 12 Dh, at most D / 2. R is Dh / 2, made even.
    """

    project: Compressed

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        dropout: float = 0.0,
        kv_rank: int | None = None,
        q_rank: int | None = None,
    ) -> None:
        if heads < 1 or dim % heads:
            raise ValueError(f"width {dim} does not divide into {heads} heads")
        half, width = max(1, dim // 2), dim // heads
        kv_rank = min(4 * width, half) if kv_rank is None else kv_rank
        q_rank = min(12 * width, half) if q_rank is None else q_rank
        at_least("kv_rank", 1, kv_rank)
        at_least("q_rank", 1, q_rank)
        rotated = max(2, width // 4 * 2)
        built = Compressed(dim, heads, rotated, kv_rank, q_rank)
        super().__init__(dim, heads, dropout=dropout, projection=built)
        self.position_dim = rotated

    def rotate(self, q: Tensor, k: Tensor, layer: LayerContext) -> tuple[Tensor, Tensor]:
        """Q_R, the last numbers of q (B, H, Lq, Dh + R), and K_R, which is k (B, 1, Lk, R)."""
        plain, turned = q.split([self.head_dim, q.shape[-1] - self.head_dim], dim=-1)
        turned, k = super().rotate(turned, k, layer)
        return torch.cat([plain, turned], dim=-1), k

    def queries_keys_values(
        self, x: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor, LayerContext]:
        q, turned, latent = self.project(x, x if layer.context is None else layer.context)
        q, turned = self.rotate(q, turned, layer)
        if layer.cache is not None:
            turned, latent, keys = layer.cache.extend(turned, latent, layer.keys)
            layer = replace(layer, context_tokens=keys)
        k, v = self.project.expand(latent)
        k = torch.cat([k, turned.expand(-1, self.heads, -1, -1)], dim=-1)
        return q, k, v, layer
