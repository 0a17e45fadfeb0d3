"""The feed-forward network with GELU, exact or approximated."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.components.ffn.base import TwoLayer


class GELU(TwoLayer):
    """x · Φ(x) between two linear layers (Hendrycks and Gimpel 2016, section 2)."""

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)


class TanhGELU(TwoLayer):
    """x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))) (Hendrycks and Gimpel 2016, section 2)."""

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")
