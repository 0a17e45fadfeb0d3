"""The gated short convolution of LFM2."""

from __future__ import annotations

from torch import Tensor, nn

from zoo import part
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo_modern.attention.causal_mixer import CausalConvolution, CausalMixer
from zoo_modern.attention.whole_numbers import at_least


@part(
    "attention",
    "short-conv",
    source="Liquid AI 2025, LFM2 technical report, https://arxiv.org/abs/2511.23404",
)
class ShortConvolution(CausalMixer):
    """A short causal convolution between two gates (LFM2).

    y = (C ⊙ conv(B ⊙ X̃)) W_o, [B, C, X̃] = X W, with a causal convolution of each channel.

    Liquid AI 2025, LFM2 technical report; size: the tokens that it reads, itself
    included. Dropout acts before W_o.
    """

    name = "short-conv"

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, size: int = 3) -> None:
        super().__init__(dim, heads, dropout=dropout)
        at_least("size", 1, size)
        self.project = nn.Linear(dim, 3 * dim, bias=False)
        self.convolution = CausalConvolution(dim, size)
        self.out = nn.Linear(dim, dim, bias=False)

    def mix_tokens(self, x: Tensor, layer: LayerContext, state: dict[str, Tensor]) -> Tensor:
        before, after, x = self.project(x).chunk(3, dim=-1)
        y = after * self.convolution(before * x, layer.tokens, state)
        out: Tensor = self.out(dropout(y, self.dropout, self.training))
        return out
