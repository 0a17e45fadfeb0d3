"""A learned bias for each bucket of offsets."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.pe.base import PositionalEncoding
from zoo_modern.pe.offsets import offsets


@part(
    "pe",
    "t5",
    source="Raffel et al. 2020, section 2.1, https://arxiv.org/abs/1910.10683",
    adds=("bias", "order", "directed"),
)
class T5(PositionalEncoding):
    """A learned bias for each bucket of offsets, which widen with distance.

    score += b[head, bucket(j - i)] (Raffel et al. 2020, T5, section 2.1).

    With N buckets for a direction and M = max_distance, distance d has bucket d below N/2, and from
    there on N/2 + ⌊N/2 · ln(2d/N) / ln(2M/N)⌋, at most N - 1 (the authors' code). bidirectional:
    half of the buckets are for keys after the query; False, as in a decoder: all are for keys
    before it, and later ones have the bucket of distance 0. All layers share b.
    """

    starts: Tensor

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        max_length: int,
        buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.bidirectional = bidirectional
        self.side = buckets // 2 if bidirectional else buckets
        exact = self.side // 2
        if buckets % 2 or exact < 1:
            least = 4 if bidirectional else 2
            raise ValueError(f"buckets must be an even number of at least {least}, not {buckets}")
        if max_distance <= exact:
            raise ValueError(f"max_distance must be above {exact}, not {max_distance}")
        # The first distance of every bucket but 0. Compared with integers, because a logarithm
        # that is rounded otherwise on another device would move a distance to another bucket.
        ratio, others = max_distance / exact, self.side - exact
        logarithmic = (exact * ratio ** (n / others) for n in range(1, others))
        starts = [*range(1, exact + 1), *(math.ceil(start - 1e-9) for start in logarithmic)]
        self.register_buffer("starts", torch.tensor(starts), persistent=False)
        self.table = nn.Parameter(torch.randn(buckets, heads) / math.sqrt(dim))

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Bias (H, Lq, Lk), or (B, H, Lq, Lk) for positions per text."""
        offset = offsets(q_positions, k_positions)
        distance = offset.abs() if self.bidirectional else (-offset).clamp_min(0)
        bucket = torch.bucketize(distance, self.starts, right=True)
        if self.bidirectional:
            bucket = bucket + self.side * (offset > 0)
        return self.table[bucket].movedim(-1, -3)
