"""Grouped-query and multi-query attention: several queries share a key and a value."""

from __future__ import annotations

from torch import Tensor, nn

from zoo import part
from zoo.components.attention.fused import Fused
from zoo.components.attention.projections import Projection


class FewKeys(Projection):
    """Queries of H heads, keys and values of ``kv_heads``."""

    def __init__(self, dim: int, heads: int, kv_heads: int) -> None:
        super().__init__(dim, heads)
        self.width = dim // heads
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * kv_heads * self.width)
        for layer in (self.q, self.kv):  # drawn as the square matrices of other attentions are
            nn.init.uniform_(layer.weight, -((3 / dim) ** 0.5), (3 / dim) ** 0.5)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        k, v = (
            part.unflatten(-1, (-1, self.width)).transpose(1, 2)
            for part in self.kv(context).chunk(2, dim=-1)
        )
        return self.split(self.q(x)), k, v


@part(
    "attention",
    "gqa",
    source="Ainslie et al. 2023, GQA, section 2.2, https://arxiv.org/abs/2305.13245",
    lacks=("exact",),
)
class GroupedQuery(Fused):
    """Grouped-query: several heads share a key and value.

    head_h = softmax(Q_h K_gᵀ / √Dh) V_g, g = ⌊h · G / H⌋, with G keys and values for H queries.

    Ainslie et al. 2023, section 2.2; G = 1 is multi-query attention. The cache keeps G heads.
    kv_heads: G, which divides H (else ValueError). The paper takes 8 of 64; None is the largest G
    below H, which is H / 2 where H is even.
    """

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, kv_heads: int | None = None
    ) -> None:
        if kv_heads is None:
            kv_heads = max((g for g in range(1, heads) if heads % g == 0), default=1)
        if type(kv_heads) is not int or kv_heads < 1 or heads % kv_heads:
            raise ValueError(f"kv_heads must divide the {heads} heads, not be {kv_heads!r}")
        super().__init__(dim, heads, dropout=dropout, projection=FewKeys(dim, heads, kv_heads))


@part(
    "attention",
    "mqa",
    source="Shazeer 2019, Fast Transformer Decoding, section 3, https://arxiv.org/abs/1911.02150",
)
class MultiQuery(GroupedQuery):
    """Multi-query: one key and value for all heads.

    head_h = softmax(Q_h Kᵀ / √Dh) V, one key and one value for all heads.

    Shazeer 2019, Fast Transformer Decoding, section 3.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout, kv_heads=1)
