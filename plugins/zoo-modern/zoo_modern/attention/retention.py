"""Retention: linear attention with a fixed decay for each head."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo_modern.attention.causal_mixer import CausalMixer, hide
from zoo_modern.attention.decayed_sums import decayed_sums


@part(
    "attention",
    "retention",
    source="Sun et al. 2023, Retentive Network, https://arxiv.org/abs/2307.08621",
    adds=("rotate",),
)
class Retention(CausalMixer):
    """Linear attention with a fixed decay per head (RetNet).

    o_n = S_nᵀ q_n / √Dh, S_n = γ S_{n-1} + k_n v_nᵀ; Y = (swish(X W_g) ⊙ norm(o)) W_o.

    Sun et al. 2023, Retentive Network, equations 5 to 8: γ = 1 - 2^(-5-h) for heads h = 0 .. H - 1;
    norm: a group norm over each head. The paper rotates q and k, which `rope` does here. Choices:
    values are as wide as keys; dropout acts before W_o. Products of q, k and v are in float32 also
    in half precision, and so without tensor cores: sums over a text lose too much in bfloat16.
    """

    name = "retention"

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.gate, self.out = (nn.Linear(dim, dim, bias=False) for _ in range(2))

    def mix_tokens(self, x: Tensor, layer: LayerContext, state: dict[str, Tensor]) -> Tensor:
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        places = layer.tokens.positions
        q = layer.position.rotate(q, places) / self.head_dim**0.5
        k = layer.position.rotate_keys(k, places)
        precision = torch.promote_types(x.dtype, torch.float32)
        heads = torch.arange(self.heads, device=x.device, dtype=precision)
        decay = torch.log1p(-torch.exp2(-5 - heads))
        decay = hide(decay[:, None, None].expand(len(x), -1, x.shape[1], 1), layer.tokens)
        o, state["sums"] = decayed_sums(q, k, v, decay, state.get("sums"))
        y = F.layer_norm(o, (self.head_dim,)).transpose(1, 2).flatten(2)
        y = dropout(F.silu(self.gate(x)) * y, self.dropout, self.training)
        out: Tensor = self.out(y)
        return out
