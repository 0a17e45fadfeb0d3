"""The gated linear unit with any activation."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from zoo.components.dropout import dropout as drop
from zoo.components.layer_context import LayerContext


class Gated(nn.Module, ABC):
    """W₂ (activation(W x) ⊙ V x), without biases (Shazeer 2020, equations 5 and 6).

    matched: take 2/3 of hidden (rounded), so that three matrices hold about what two did
    (section 3.1 there); False takes hidden as it is, and half as many parameters again.
    """

    def __init__(
        self, dim: int, hidden: int, dropout: float = 0.0, *, matched: bool = True
    ) -> None:
        super().__init__()
        self.dropout = dropout
        width = max(1, round(2 * hidden / 3)) if matched else hidden
        self.gate, self.value = (nn.Linear(dim, width, bias=False) for _ in range(2))
        self.outer = nn.Linear(width, dim, bias=False)

    @abstractmethod
    def activation(self, x: Tensor) -> Tensor:
        """(…, width) to (…, width), element by element."""

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        """(…, D) to (…, D)."""
        inner = self.activation(self.gate(x)) * self.value(x)
        out: Tensor = self.outer(drop(inner, self.dropout, self.training))
        return out
