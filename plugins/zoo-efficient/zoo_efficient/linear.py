"""Linear attention: features elu(x) + 1 in place of the softmax."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import PackedProjection
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo_efficient.kernel import divide, weighted_sums
from zoo_efficient.padding import hide


@part(
    "attention",
    "linear",
    source="Katharopoulos et al. 2020, Transformers are RNNs, https://arxiv.org/abs/2006.16236",
    adds=("padding", "causal"),
)
class Linear(ProjectedAttention):
    """The softmax replaced by a product of features elu(x) + 1.

    o_i = φ(q_i)ᵀ (Σ_j φ(k_j) v_jᵀ) / φ(q_i)ᵀ Σ_j φ(k_j), φ(x) = elu(x) + 1.

    Katharopoulos et al. 2020, section 3.2, equations 5 and 7; causal: section 3.3.
    Exact for this formula; it does not approximate the softmax, and q is not scaled.
    Cost: L · Dh² per head in time, L · Dh in memory; causal: L · (Dh² + 64 Dh) and L · (Dh + 64).
    Choices: a rotary encoding rotates φ(q) and φ(k) in the numerator only (Su et al. 2021,
    RoFormer, section 3.3), so that it still depends on offsets only and the denominator stays
    positive. Dropout is applied to the values, as there is no attention map. Causal
    self-attention follows the order along L.
    """

    projection = PackedProjection

    def rotate(self, q: Tensor, k: Tensor, layer: LayerContext) -> tuple[Tensor, Tensor]:
        """Both unchanged: their features are rotated, not q and k."""
        return q, k

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        """The output of each head (B, H, Lq, Dh)."""
        q, k = features(q), hide(features(k), layer.keys)
        v = dropout(hide(v, layer.keys), self.dropout, self.training)
        top = weighted_sums(*super().rotate(q, k, layer), v, layer)
        bottom = weighted_sums(q, k, torch.ones_like(v[..., :1]), layer)
        return divide(top, bottom)


def features(x: Tensor) -> Tensor:
    """elu(x) + 1: x + 1 above zero, eˣ below, which stays positive where eˣ - 1 + 1 rounds to 0."""
    return torch.where(x > 0, x + 1, x.clamp_max(0).exp())
