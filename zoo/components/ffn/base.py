"""Two linear layers with an activation between them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext


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
