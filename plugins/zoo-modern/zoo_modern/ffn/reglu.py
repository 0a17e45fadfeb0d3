"""The gated linear unit with ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo_modern.ffn.gated import Gated


class ReGLU(Gated):
    """W₂ (ReLU(W x) ⊙ V x), ReLU(x) = max(0, x) (Shazeer 2020, equation 6)."""

    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x)
