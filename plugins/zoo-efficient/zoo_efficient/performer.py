"""Performer: the softmax's kernel estimated by positive orthogonal random features."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo import part
from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import PackedProjection
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens, may_attend
from zoo_efficient.kernel import divide, weighted_sums
from zoo_efficient.padding import hide
from zoo_efficient.whole_numbers import at_least


@part(
    "attention",
    "performer",
    source="Choromanski et al. 2021, Rethinking Attention, https://arxiv.org/abs/2009.14794",
    adds=("padding", "causal", "map", "absolute"),
)
class Performer(ProjectedAttention):
    """FAVOR+: the softmax estimated by positive orthogonal random features.

    exp(q·k/√Dh) ≈ φ(q)·φ(k), φ(x) = exp(W x' - |x'|²/2) / √M, x' = x / Dh^¼.

    Choromanski et al. 2021, FAVOR+: positive features of section 2.3, lemma 1; orthogonal ones
    of section 2.4. Exact for the attention of these features; the estimate of the softmax's
    kernel is unbiased, and its error falls as 1/√M.
    Cost: L · M · Dh per head in time, L · M in memory.
    Choices: ``features`` (M) is ⌈Dh ln Dh⌉ by default, the growth of section 3; W is drawn once,
    when built, from torch's generator, and saved in state_dict; its rows have the norms of
    Gaussian vectors; no constant is added to the features for stability: exponents are shifted by
    amounts that cancel. Dropout is applied to the values, as forward makes no attention map.
    Causal self-attention follows the order along L.
    """

    projection = PackedProjection
    directions: Tensor

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, features: int | None = None
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        if features is None:
            features = max(1, math.ceil(self.head_dim * math.log(self.head_dim)))
        at_least("features", 1, features)
        self.register_buffer("directions", orthogonal_directions(features, self.head_dim))

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        """The output of each head (B, H, Lq, Dh)."""
        q, k = self.features(q, k, layer.keys)
        v = dropout(hide(v, layer.keys), self.dropout, self.training)
        top = weighted_sums(q, k, v, layer)
        bottom = weighted_sums(q, k, torch.ones_like(v[..., :1]), layer)
        return divide(top, bottom)

    def weights(self, x: Tensor, layer: LayerContext) -> Tensor:
        """The attention map (B, H, Lq, Lk), which forward never computes; rows sum to one."""
        q, k, _, layer = self.queries_keys_values(x, layer)
        q, k = self.features(q, k, layer.keys)
        products = q @ k.transpose(-2, -1)
        mask = may_attend(layer.tokens, layer.keys, layer.causal)
        if mask is not None:
            products = products.masked_fill(~mask, 0)
        return divide(products, products.sum(dim=-1, keepdim=True))

    def features(self, q: Tensor, k: Tensor, keys: Tokens) -> tuple[Tensor, Tensor]:
        """φ(q) (B, H, Lq, M) and φ(k) (B, H, Lk, M), zero for padding; up to a factor per query.

        Each feature's largest exponent over a text's keys is moved from the keys to the queries,
        and each query's largest exponent is subtracted. Both cancel in the quotient; no feature
        overflows, and no sum of weights underflows to zero.
        """
        q, k = self._exponents(q), self._exponents(hide(k, keys))
        if keys.attention_mask is not None:
            k = k.masked_fill(~keys.attention_mask[:, None, :, None], -torch.inf)
        lowest = torch.finfo(k.dtype).min  # for texts without tokens, whose maximum is -inf
        largest = k.detach().amax(dim=-2, keepdim=True).clamp_min(lowest)
        q = q + largest
        q = q - q.detach().amax(dim=-1, keepdim=True)
        return q.exp(), (k - largest).exp()

    def _exponents(self, x: Tensor) -> Tensor:
        x = x / self.head_dim**0.25
        return x @ self.directions.T - x.square().sum(dim=-1, keepdim=True) / 2


def orthogonal_directions(count: int, dim: int) -> Tensor:
    """Rows (count, dim), each distributed as N(0, I); every ``dim`` of them are orthogonal."""
    blocks = []
    for _ in range(math.ceil(count / dim)):
        basis, triangle = torch.linalg.qr(torch.randn(dim, dim))
        # With the diagonal of R positive, the basis is uniformly distributed.
        blocks.append((basis * triangle.diagonal().sign()).T)
    norms: Tensor = torch.randn(count, dim).norm(dim=-1, keepdim=True)
    return torch.cat(blocks)[:count] * norms
