"""gMLP: tokens mixed by a learned matrix over positions, as a gate."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import Attention
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import may_attend
from zoo_modern.attention.causal_mixer import hide
from zoo_modern.attention.whole_numbers import at_least


@part(
    "attention",
    "gmlp",
    source="Liu et al. 2021, Pay Attention to MLPs, https://arxiv.org/abs/2105.08050",
    adds=("padding", "causal", "cross", "cache", "order", "one-head", "fixed-length"),
)
class GatedMLP(Attention):
    """gMLP: a gate that mixes tokens by a learned matrix over positions.

    Y = (Z₁ ⊙ (W norm(Z₂) + b)) V, [Z₁, Z₂] = GELU(X U), with W (L, L) over positions.

    Liu et al. 2021, Pay Attention to MLPs, section 2, equations 1 to 4: b is 1 and W near 0 at
    first. Z₁ and Z₂ are ``expand`` times as wide as the model each (the paper's d_ffn, 6 D, is of
    both). A causal call leaves out W's upper triangle. Choice: dropout acts before V.
    """

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, max_length: int, expand: int = 3
    ) -> None:
        super().__init__()
        at_least("expand", 1, expand)
        self.heads, self.head_dim, self.dropout = 1, dim, dropout
        self.max_length, width = max_length, expand * dim
        self.inner, self.out = nn.Linear(dim, 2 * width), nn.Linear(width, dim)
        self.norm = nn.LayerNorm(width)
        small = 1e-3 / max_length
        self.weight = nn.Parameter(torch.empty(max_length, max_length).uniform_(-small, small))
        self.bias = nn.Parameter(torch.ones(max_length, 1))

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        tokens, keys = layer.tokens, layer.keys
        first, second = F.gelu(self.inner(x)).chunk(2, dim=-1)
        if layer.context is not None:
            second = F.gelu(self.inner(layer.context)).chunk(2, dim=-1)[1]
        values = hide(self.norm(second)[:, None], keys)  # (B, 1, Lk, E)
        if layer.cache is not None:
            values, _, keys = layer.cache.extend(values, values[..., :0], keys)
        if max(x.shape[1], values.shape[2]) > self.max_length:
            raise ValueError(f"attention 'gmlp' is built for {self.max_length} tokens at most")
        weight = self.weight[tokens.positions[..., None], keys.positions[..., None, :]]
        weight = weight[..., None, :, :]  # (1 or B, 1, Lq, Lk)
        mask = may_attend(tokens, keys, layer.causal)
        if mask is not None:
            weight = weight.masked_fill(~mask, 0)
        gate = (weight @ values)[:, 0] + self.bias[tokens.positions]
        out: Tensor = self.out(dropout(first * gate, self.dropout, self.training))
        return out
