"""The SiLU-gated linear unit."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo.registry.declarations import part


@part(
    "ffn",
    "swiglu",
    source="Shazeer 2020, equation 6, https://arxiv.org/abs/2002.05202",
    adds=("gated",),
)
class SwiGLU(nn.Module):
    """Gated by SiLU, with as many parameters as the others.

    W₂ (SiLU(W x) ⊙ V x), without biases (Shazeer 2020, equation 6).

    matched: take 2/3 of hidden (rounded), so that three matrices hold about what two did
    (section 3.1 there); False takes hidden as it is, and half as many parameters again.
    """

    def __init__(
        self, dim: int, hidden: int, dropout: float = 0.0, *, matched: bool = True
    ) -> None:
        super().__init__()
        self.dropout = dropout
        width = max(1, round(2 * hidden / 3)) if matched else hidden
        self.gate_and_value = nn.Linear(dim, 2 * width, bias=False)
        self.outer = nn.Linear(width, dim, bias=False)

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        """(…, D) to (…, D)."""
        gate, value = self.gate_and_value(x).chunk(2, dim=-1)
        out: Tensor = self.outer(dropout(F.silu(gate) * value, self.dropout, self.training))
        return out
