"""Two linear layers with an activation between them: ReLU, GELU, or GELU by a formula."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo.registry.declarations import part


class TwoLayer(nn.Module, ABC):
    """W₂ · activation(W₁ x + b₁) + b₂, with dropout on the activations."""

    def __init__(self, dim: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.inner = nn.Linear(dim, hidden)
        self.outer = nn.Linear(hidden, dim)

    @abstractmethod
    def activation(self, x: Tensor) -> Tensor:
        """(…, hidden) to (…, hidden), element by element."""

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        """(…, D) to (…, D)."""
        inner = dropout(self.activation(self.inner(x)), self.dropout, self.training)
        out: Tensor = self.outer(inner)
        return out


@part("ffn", "relu", source="Vaswani et al. 2017, equation 2, https://arxiv.org/abs/1706.03762")
class ReLU(TwoLayer):
    """Two linear layers with ReLU between.

    max(0, x) between two linear layers (Vaswani et al. 2017, equation 2).
    """

    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x)


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
