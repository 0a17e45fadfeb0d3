"""Gated DeltaNet: the delta rule with a decay of the whole state, and an output gate."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo_modern.attention.chunks import wide
from zoo_modern.attention.deltanet import DeltaNet
from zoo_modern.attention.time_steps import inverse_softplus_steps, softplus


@part(
    "attention",
    "gated-deltanet",
    source="Yang et al. 2025, Gated Delta Networks, https://arxiv.org/abs/2412.06464",
)
class GatedDeltaNet(DeltaNet):
    """DeltaNet with a decay of the whole state and an output gate.

    S_t = α_t (I - β_t k_t k_tᵀ) S_{t-1} + β_t k_t v_tᵀ; Y = (swish(X W_g) ⊙ RMS(o)) W_o.

    Yang et al. 2025, Gated Delta Networks, equation 10 and section 3.4; all else as in DeltaNet,
    with products in float32.
    α = exp(-A softplus(X W_α + b)) for each head, as in Mamba-2, whose initial A and b it has.
    Choice: keys and values are as wide as the model.
    """

    name = "gated-deltanet"
    no_weight_decay = ("log_a", "step_bias")

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        dropout: float = 0.0,
        size: int = 4,
        negative: bool = False,
    ) -> None:
        super().__init__(dim, heads, dropout=dropout, size=size, negative=negative)
        self.step = nn.Linear(dim, heads, bias=False)
        self.step_bias = nn.Parameter(inverse_softplus_steps(heads))
        self.log_a = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        self.gate = nn.Linear(dim, dim, bias=False)

    def log_decay(self, x: Tensor) -> Tensor:
        steps = softplus(self.split(wide(self.step(x)) + self.step_bias))  # (B, H, L, 1)
        return -wide(self.log_a).exp()[:, None, None] * steps

    def gated(self, y: Tensor, x: Tensor) -> Tensor:
        return y * F.silu(self.gate(x))
