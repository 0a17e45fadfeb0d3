"""The gated linear unit with GELU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo import part
from zoo_modern.ffn.gated import Gated


@part(
    "ffn",
    "geglu",
    source="Shazeer 2020, equation 6, https://arxiv.org/abs/2002.05202",
    adds=("gated",),
)
class GEGLU(Gated):
    """GELU-gated linear unit with as many parameters as the plain ones.

    W₂ (GELU(W x) ⊙ V x), GELU(x) = x Φ(x) (Shazeer 2020, equation 6).
    """

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)
