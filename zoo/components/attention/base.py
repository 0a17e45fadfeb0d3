"""The attention contract, and two bases that leave only the mixing to a variant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import torch
from torch import Tensor, nn

from zoo.components.attention.projections import CanonicalWeights, Projection
from zoo.components.attention.softmax import softmax_weights
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens, may_attend


class Cache(Protocol):
    """Keys and values of the positions decoded so far."""

    def extend(self, k: Tensor, v: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor, Tokens]:
        """Take in new keys and values (B, H, L, Dh) and give back all of them."""


class Attention(nn.Module, ABC):
    """What every attention offers; built as ``Attention(dim, heads, dropout=…)``.

    heads, head_dim: how it splits the width, which the encoding's slots need to know.
    """

    heads: int
    head_dim: int

    @abstractmethod
    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        tokens: Tokens,
        context_tokens: Tokens | None = None,
        position: PositionalEncoding,
        causal: bool = False,
        cache: Cache | None = None,
    ) -> Tensor:
        """Queries from x (B, Lq, D), keys and values from context (B, Lk, D; default x).

        tokens and context_tokens describe x and context. Returns (B, Lq, D).
        """


class Headed(Attention):
    """Projections, heads, rotation and cache; a variant states ``mix``.

    MultiHead(Q, K, V) = Concat(head_1 .. head_H) W_o, head_i = Mix(Q W_q, K W_k, V W_v)
    (Vaswani et al. 2017, section 3.2.2). For variants that look at no (Lq, Lk) pairs and must
    not pay for a mask or bias of that size; all others build on MultiHead.
    """

    projection: ClassVar[type[Projection]]

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if heads < 1 or dim % heads:
            raise ValueError(f"width {dim} does not divide into {heads} heads")
        self.heads, self.head_dim, self.dropout = heads, dim // heads, dropout
        # Drawn first, so that one seed gives every variant the same weights.
        weights = CanonicalWeights.draw(dim)
        self.project = self.projection(dim, heads)
        self.out = nn.Linear(dim, dim)
        self.load_canonical(weights)

    @abstractmethod
    def mix(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        queries: Tokens,
        keys: Tokens,
        position: PositionalEncoding,
        causal: bool,
    ) -> Tensor:
        """What each query takes from the values.

        q: (B, H, Lq, Dh), described by queries; k, v: (B, H, Lk, Dh), described by keys; position
        has turned q and k already, its bias is left to add. Returns (B, H, Lq, Dh).
        """

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        tokens: Tokens,
        context_tokens: Tokens | None = None,
        position: PositionalEncoding,
        causal: bool = False,
        cache: Cache | None = None,
    ) -> Tensor:
        """See Attention.forward."""
        q, k, v, keys = self.scene(x, context, tokens, context_tokens, position, cache)
        heads = self.mix(q, k, v, tokens, keys, position, causal)  # (B, H, Lq, Dh)
        out: Tensor = self.out(heads.transpose(1, 2).flatten(2))  # (B, Lq, D)
        return out

    def rotate(self, x: Tensor, tokens: Tokens, position: PositionalEncoding) -> Tensor:
        """Queries or keys x (B, H, L, Dh) turned by the encoding."""
        return position.rotate(x, tokens.positions)

    def scene(
        self,
        x: Tensor,
        context: Tensor | None,
        tokens: Tokens,
        context_tokens: Tokens | None,
        position: PositionalEncoding,
        cache: Cache | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tokens]:
        """q, k, v and the tokens that k and v describe: the context's, or all of the cache."""
        keys = tokens if context_tokens is None else context_tokens
        q, k, v = self.project(x, x if context is None else context)
        q, k = self.rotate(q, tokens, position), self.rotate(k, keys, position)
        if cache is not None:
            k, v, keys = cache.extend(k, v, keys)
        return q, k, v, keys

    def load_canonical(self, weights: CanonicalWeights) -> None:
        """Take on the canonical weights, whatever layout this variant keeps them in."""
        self.project.load(weights)
        with torch.no_grad():
            self.out.weight.copy_(weights.wo)
            self.out.bias.copy_(weights.bo)


class MultiHead(Headed):
    """Masks and biases, too; a variant states ``attend``, a rule for scores."""

    @abstractmethod
    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """What each query takes from the values.

        q: (B, H, Lq, Dh); k, v: (B, H, Lk, Dh); mask: bool, broadcastable to (B, H, Lq, Lk),
        True where a query may look; bias: added to the scores, broadcastable likewise.
        Returns (B, H, Lq, Dh).
        """

    def mix(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        queries: Tokens,
        keys: Tokens,
        position: PositionalEncoding,
        causal: bool,
    ) -> Tensor:
        """See Headed.mix."""
        return self.attend(q, k, v, *self.pairs(q, queries, keys, position, causal))

    def weights(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        tokens: Tokens,
        context_tokens: Tokens | None = None,
        position: PositionalEncoding,
        causal: bool = False,
    ) -> Tensor:
        """The attention map (B, H, Lq, Lk); each row sums to one."""
        q, k, _, keys = self.scene(x, context, tokens, context_tokens, position)
        return softmax_weights(q, k, *self.pairs(q, tokens, keys, position, causal))

    def pairs(
        self, q: Tensor, queries: Tokens, keys: Tokens, position: PositionalEncoding, causal: bool
    ) -> tuple[Tensor | None, Tensor | None]:
        """What is known of each pair of query and key: the mask and the bias that attend takes."""
        bias = position.bias(queries.positions, keys.positions)
        mask = may_attend(queries, keys, causal)
        return mask, None if bias is None else bias.to(q.dtype)
