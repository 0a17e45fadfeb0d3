"""The gated linear unit with GELU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo_modern.ffn.gated import Gated


class GEGLU(Gated):
    """W₂ (GELU(W x) ⊙ V x), GELU(x) = x Φ(x) (Shazeer 2020, equation 6)."""

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)
