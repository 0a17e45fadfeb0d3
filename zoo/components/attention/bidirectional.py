"""A causal attention, or any mixer that is causal by nature, run both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding

MERGES = ("sum", "concat")


class Bidirectional(Attention):
    """f(x) + reverse(b(reverse(x))), or W [f(x); reverse(b(reverse(x)))] with merge='concat'.

    Schuster and Paliwal 1997, section II. f and b are two of ``inner``, with weights of their own,
    called as in a decoder; so a token is in both sums. reverse: L in the opposite order; encodings
    see the true positions in both.
    Raises ValueError for a causal call, a context or a cache.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        inner: Callable[..., Attention],
        dropout: float = 0.0,
        max_length: int | None = None,
        merge: str = "sum",
    ) -> None:
        super().__init__()
        if merge not in MERGES:
            raise ValueError(f"merge must be one of {', '.join(MERGES)}, not {merge!r}")
        fixed = {} if max_length is None else {"max_length": max_length}
        self.forwards, self.backwards = (
            inner(dim, heads, dropout=dropout, **fixed) for _ in range(2)
        )
        self.heads, self.head_dim = self.forwards.heads, self.forwards.head_dim
        self.position_dim = self.forwards.position_dim
        self.join = nn.Linear(2 * dim, dim) if merge == "concat" else None

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        if layer.causal or layer.cache is not None or layer.context is not None:
            raise ValueError("attention 'bidirectional' reads a whole text in both directions")
        tokens = layer.tokens
        last = tokens.positions.amax()
        turned = replace(tokens, positions=(last - tokens.positions).flip(-1))
        if tokens.attention_mask is not None:
            turned = replace(turned, attention_mask=tokens.attention_mask.flip(1))
        same = cast(PositionalEncoding, Turned(layer.position, last))
        there = layer.scoped("forwards", causal=True)
        back = layer.scoped("backwards", tokens=turned, position=same, causal=True)
        both = self.forwards(x, there), self.backwards(x.flip(1), back).flip(1)
        if self.join is None:
            total: Tensor = both[0] + both[1]
            return total
        joined: Tensor = self.join(torch.cat(both, dim=-1))
        return joined


@dataclass(frozen=True)
class Turned:
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

    @property
    def reads_content(self) -> bool:
        return self.encoding.reads_content
