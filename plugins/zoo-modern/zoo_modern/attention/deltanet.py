"""DeltaNet: linear attention whose state forgets what a new key replaces."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo_modern.attention.causal_mixer import CausalConvolution, CausalMixer, hide
from zoo_modern.attention.delta_rule import delta_rule
from zoo_modern.attention.whole_numbers import at_least


@part(
    "attention",
    "deltanet",
    source="Yang et al. 2024, DeltaNet by chunks, section 3, https://arxiv.org/abs/2406.06484",
)
class DeltaNet(CausalMixer):
    """Linear attention whose state forgets what a new key replaces.

    o_t = S_tᵀ q_t / √Dh, S_t = (I - β_t k_t k_tᵀ) S_{t-1} + β_t k_t v_tᵀ, β = σ(X W_β).

    Schlag et al. 2021, section 4.2; as Yang et al. 2024, Parallelizing Linear Transformers
    with the Delta Rule, section 3.3: q, k and v are swish(conv(X W)) with a causal convolution over
    ``size`` tokens, q and k then have norm 1, and o gets an RMS norm over each head, before W_o.
    negative: β = 2 σ(X W_β), so that a step of the state has eigenvalues from -1 to 1 and not only
    from 0 to 1 (Grazzi et al. 2025, Unlocking State-Tracking in Linear RNNs Through Negative
    Eigenvalues, section 4). Choice: dropout acts before W_o. Products
    with the state are in float32 also in half precision, and so without tensor cores: sums over a
    text lose too much in bfloat16.
    """

    name = "deltanet"

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        dropout: float = 0.0,
        size: int = 4,
        negative: bool = False,
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        at_least("size", 1, size)
        self.highest = 2 if negative else 1
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.convolution = CausalConvolution(3 * dim, size)
        self.rate = nn.Linear(dim, heads, bias=False)
        self.norm, self.out = nn.RMSNorm(self.head_dim, eps=1e-6), nn.Linear(dim, dim, bias=False)

    def mix_tokens(self, x: Tensor, layer: LayerContext, state: dict[str, Tensor]) -> Tensor:
        qkv = F.silu(self.convolution(self.qkv(x), layer.tokens, state))
        q, k, v = (self.split(part) for part in qkv.chunk(3, dim=-1))
        q, k = unit(q) / self.head_dim**0.5, unit(k)
        rate = hide(self.split(self.highest * self.rate(x).sigmoid()), layer.tokens)
        decay = hide(self.log_decay(x), layer.tokens)
        o, state["sums"] = delta_rule(q, k, v, rate, decay, state.get("sums"))
        y = self.gated(self.norm(o).transpose(1, 2).flatten(2), x)
        out: Tensor = self.out(dropout(y, self.dropout, self.training))
        return out

    def log_decay(self, x: Tensor) -> Tensor:
        """The logarithm of what the state keeps in each step, (B, H, L, 1): all of it."""
        return x.new_zeros(len(x), self.heads, x.shape[1], 1)

    def gated(self, y: Tensor, x: Tensor) -> Tensor:
        """The normed heads y (B, L, D) as they are."""
        return y


def unit(x: Tensor) -> Tensor:
    """x (…, Dh) divided by its norm."""
    return x * torch.rsqrt(x.square().sum(dim=-1, keepdim=True) + 1e-6)
