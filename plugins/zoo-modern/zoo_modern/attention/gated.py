"""Attention whose output is gated by the layer's input."""

from __future__ import annotations

from torch import Tensor, nn

from zoo import part
from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext

GATES = ("elementwise", "headwise")


@part(
    "attention",
    "gated",
    source="Qiu et al. 2025, Gated Attention, section 2.2, https://arxiv.org/abs/2505.06708",
    lacks=("exact",),
)
class Gated(Fused):
    """Heads times a sigmoid gate from the layer's input.

    (heads ⊙ σ(X W_g)) W_o: a sigmoid gate between the heads and the output projection.

    Qiu et al. 2025, Gated Attention, section 2.2, position G1 and equation 5. gate: 'elementwise'
    has a gate for each of a head's Dh numbers, 'headwise' one for each head.
    """

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, gate: str = "elementwise"
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        if gate not in GATES:
            raise ValueError(f"gate must be one of {', '.join(GATES)}, not {gate!r}")
        self.gate = nn.Linear(dim, dim if gate == "elementwise" else heads, bias=False)

    def output(self, heads: Tensor, x: Tensor, layer: LayerContext) -> Tensor:
        gates = self.gate(x).sigmoid().unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return super().output(heads * gates, x, layer)
