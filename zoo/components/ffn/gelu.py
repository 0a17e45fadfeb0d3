"""The feed-forward network with GELU, exact or approximated."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.components.ffn.base import TwoLayer
from zoo.registry.declarations import part


@part(
    "ffn", "gelu", source="Hendrycks and Gimpel 2016, section 2, https://arxiv.org/abs/1606.08415"
)
class GELU(TwoLayer):
    """Two linear layers with the exact GELU between.

    x · Φ(x) between two linear layers (Hendrycks and Gimpel 2016, section 2).
    """

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)


@part(
    "ffn",
    "gelu-tanh",
    source="Hendrycks and Gimpel 2016, section 2, https://arxiv.org/abs/1606.08415",
)
class TanhGELU(TwoLayer):
    """Two linear layers with GELU by its tanh approximation.

    x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))) (Hendrycks and Gimpel 2016, section 2).
    """

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")
