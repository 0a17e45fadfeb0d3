"""The gated linear unit with ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo import part
from zoo_modern.ffn.gated import Gated


@part(
    "ffn",
    "reglu",
    source="Shazeer 2020, equation 6, https://arxiv.org/abs/2002.05202",
    adds=("gated",),
)
class ReGLU(Gated):
    """ReLU-gated linear unit with as many parameters as the plain ones.

    W₂ (ReLU(W x) ⊙ V x), ReLU(x) = max(0, x) (Shazeer 2020, equation 6).
    """

    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x)
