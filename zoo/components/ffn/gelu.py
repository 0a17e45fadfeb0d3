"""The feed-forward network with GELU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.components.ffn.base import TwoLayer


class GELU(TwoLayer):
    """x · Φ(x) between two linear layers (Hendrycks and Gimpel 2016, section 2)."""

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)
