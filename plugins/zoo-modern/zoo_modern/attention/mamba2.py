"""Mamba-2: a selective state space with one decay for each head (SSD)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo_modern.attention.causal_mixer import CausalConvolution, CausalMixer, hide
from zoo_modern.attention.chunks import wide
from zoo_modern.attention.decayed_sums import decayed_sums
from zoo_modern.attention.time_steps import inverse_softplus_steps, softplus
from zoo_modern.attention.whole_numbers import at_least


@part(
    "attention",
    "mamba2",
    source="Dao and Gu 2024, Transformers are SSMs, https://arxiv.org/abs/2405.21060",
)
class Mamba2(CausalMixer):
    """A selective state space with one decay per head (SSD).

    y_t = S_tᵀ c_t + d x_t, S_t = exp(-a δ_t) S_{t-1} + δ_t b_t x_tᵀ; RMS(y ⊙ swish(z)) W_o.

    Dao and Gu 2024, Transformers are SSMs, sections 5 to 7: [z, x, b, c, δ] = X W, a causal
    convolution over ``size`` tokens and a swish on x, b and c, δ = softplus(δ + bias). x and z are
    ``expand`` times as wide as the model; b and c, of width ``state``, serve all heads. a, d and
    the bias are learned for each head. Choices: a head is expand · D / H wide, whatever D; dropout
    acts before W_o. Products with the state are in float32 also in half precision, and so without
    tensor cores: sums over a text lose too much in bfloat16.
    """

    name = "mamba2"
    no_weight_decay = ("log_a", "step_bias", "skip")

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        dropout: float = 0.0,
        state: int = 128,
        expand: int = 2,
        size: int = 4,
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        for name, value in (("state", state), ("expand", expand), ("size", size)):
            at_least(name, 1, value)
        self.width, self.state_dim = expand * dim, state
        self.project = nn.Linear(dim, 2 * self.width + 2 * state + heads, bias=False)
        self.convolution = CausalConvolution(self.width + 2 * state, size, bias=True)
        self.step_bias = nn.Parameter(inverse_softplus_steps(heads))
        self.log_a = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        self.skip = nn.Parameter(torch.ones(heads))
        self.norm = nn.RMSNorm(self.width, eps=1e-5)
        self.out = nn.Linear(self.width, dim, bias=False)

    def mix_tokens(self, x: Tensor, layer: LayerContext, state: dict[str, Tensor]) -> Tensor:
        sizes = [self.width, self.width + 2 * self.state_dim, self.heads]
        z, xbc, steps = self.project(x).split(sizes, dim=-1)
        xbc = F.silu(self.convolution(xbc, layer.tokens, state))
        x, b, c = xbc.split([self.width, self.state_dim, self.state_dim], dim=-1)
        steps = self.split(softplus(wide(steps) + self.step_bias))  # (B, H, L, 1)
        steps = hide(steps, layer.tokens)
        decay, x = -wide(self.log_a).exp()[:, None, None] * steps, self.split(x)
        y, state["sums"] = decayed_sums(
            c[:, None], b[:, None], steps * x, decay, state.get("sums")
        )  # (B, H, L, width / H)
        y = (y + self.skip[:, None, None] * x).to(z.dtype).transpose(1, 2).flatten(2)
        y = dropout(self.norm(y * F.silu(z)), self.dropout, self.training)
        out: Tensor = self.out(y)
        return out
