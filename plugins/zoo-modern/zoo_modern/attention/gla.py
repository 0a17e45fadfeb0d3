"""Gated linear attention: linear attention with a decay of each key channel, from the input."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo_modern.attention.causal_mixer import CausalMixer, hide
from zoo_modern.attention.decayed_sums import decayed_sums
from zoo_modern.attention.whole_numbers import at_least

TEMPERATURE = 16


@part(
    "attention",
    "gla",
    source="Yang et al. 2024, Gated Linear Attention, https://arxiv.org/abs/2312.06635",
)
class GatedLinear(CausalMixer):
    """Linear attention with a decay per key channel, computed from the input.

    o_t = S_tᵀ q_t, S_t = diag(α_t) S_{t-1} + k_t v_tᵀ; Y = (swish(X W_r + b_r) ⊙ LN(o)) W_o.

    Yang et al. 2024, Gated Linear Attention, section 4.4: α = σ(X W_1 W_2 + b)^(1/16), through
    ``rank`` numbers; queries and keys half as wide as values; LN over each head. Dropout acts
    before W_o. Products of q, k and v are in float32 also in half precision, and so without tensor
    cores: sums over a text lose too much in bfloat16.
    """

    name = "gla"

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, rank: int = 16) -> None:
        super().__init__(dim, heads, dropout=dropout)
        at_least("rank", 1, rank)
        self.key_dim = max(1, self.head_dim // 2)
        keys = heads * self.key_dim
        self.q, self.k = (nn.Linear(dim, keys, bias=False) for _ in range(2))
        self.v = nn.Linear(dim, dim, bias=False)
        self.decay = nn.Sequential(nn.Linear(dim, rank, bias=False), nn.Linear(rank, keys))
        self.norm, self.gate = nn.LayerNorm(self.head_dim), nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim, bias=False)

    def mix_tokens(self, x: Tensor, layer: LayerContext, state: dict[str, Tensor]) -> Tensor:
        q, k, v = (self.split(linear(x)) for linear in (self.q, self.k, self.v))
        decay = hide(self.split(F.logsigmoid(self.decay(x)) / TEMPERATURE), layer.tokens)
        o, state["sums"] = decayed_sums(q, k, v, decay, state.get("sums"), size=8)
        y = F.silu(self.gate(x)) * self.norm(o).transpose(1, 2).flatten(2)
        out: Tensor = self.out(dropout(y, self.dropout, self.training))
        return out
