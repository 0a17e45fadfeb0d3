"""An attention that is causal by nature, as an encoder has it: run in both directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from torch import Tensor

from zoo.components.attention.base import Attention
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding


class Bidirectional(Attention):
    """f(x) + reverse(b(reverse(x))) (Schuster and Paliwal 1997, section II).

    forwards (f), backwards (b): two attentions with weights of their own, called as in a decoder;
    so a token is in both sums. reverse: L in the opposite order; encodings see the true positions
    in both. Raises ValueError for a causal call, a context or a cache.
    """

    def __init__(self, forwards: Attention, backwards: Attention) -> None:
        super().__init__()
        self.forwards, self.backwards = forwards, backwards
        self.heads, self.head_dim = forwards.heads, forwards.head_dim
        self.position_dim = forwards.position_dim

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        if layer.causal or layer.cache is not None or layer.context is not None:
            raise ValueError("an attention run in both directions reads a whole text")
        tokens = layer.tokens
        last = tokens.positions.amax()
        reversed_tokens = replace(tokens, positions=(last - tokens.positions).flip(-1))
        if tokens.attention_mask is not None:
            mask = tokens.attention_mask.flip(1)
            reversed_tokens = replace(reversed_tokens, attention_mask=mask, in_order=False)
        encoding = cast(PositionalEncoding, ReversedEncoding(layer.position, last))
        there = layer.scoped("forwards", causal=True)
        back = layer.scoped("backwards", tokens=reversed_tokens, position=encoding, causal=True)
        total: Tensor = self.forwards(x, there) + self.backwards(x.flip(1), back).flip(1)
        return total


@dataclass(frozen=True)
class ReversedEncoding:
    """An encoding for positions ``last - position``: it sees the true positions all the same."""

    encoding: PositionalEncoding
    last: Tensor

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.encoding.rotate(x, self.last - positions)

    def rotate_keys(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.encoding.rotate_keys(x, self.last - positions)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        return self.encoding.bias(self.last - q_positions, self.last - k_positions)

    def content_bias(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, mask: Tensor | None
    ) -> Tensor | None:
        positions = self.last - q_positions, self.last - k_positions
        return self.encoding.content_bias(q, k, *positions, mask)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.encoding, name)
