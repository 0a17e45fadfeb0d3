"""The attention contract, and two base classes that do everything but the mixing."""

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
    """Keys and values of the tokens decoded so far."""

    def extend(self, k: Tensor, v: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor, Tokens]:
        """Append new keys and values (B, H, L, Dh) and return all of them with their tokens."""


class Attention(nn.Module, ABC):
    """Built as ``Attention(dim, heads, dropout=…)``.

    heads, head_dim: how it splits the width; positional encodings are built with both.
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
        """Queries from x (B, Lq, D), keys and values from context (B, Lk, D; None: x).

        tokens and context_tokens describe x and context. Returns (B, Lq, D).
        """


class ProjectedAttention(Attention):
    """Projections, heads, rotation and cache are done; a subclass implements ``mix``.

    MultiHead(Q, K, V) = Concat(head_1 .. head_H) W_o, head_i = Mix(Q W_q, K W_k, V W_v)
    (Vaswani et al. 2017, section 3.2.2). For variants that compare no (Lq, Lk) pairs and must
    not build a mask or bias of that size; all others subclass MultiHead.
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
        """The output of each head (B, H, Lq, Dh).

        q: (B, H, Lq, Dh), described by queries; k, v: (B, H, Lk, Dh), described by keys. q and k
        are rotated already; adding position's bias is left to this method.
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
        q, k, v, keys = self.queries_keys_values(
            x, context, tokens, context_tokens, position, cache
        )
        heads = self.mix(q, k, v, tokens, keys, position, causal)  # (B, H, Lq, Dh)
        out: Tensor = self.out(heads.transpose(1, 2).flatten(2))  # (B, Lq, D)
        return out

    def rotate(self, x: Tensor, tokens: Tokens, position: PositionalEncoding) -> Tensor:
        """Queries or keys x (B, H, L, Dh) rotated by the encoding."""
        return position.rotate(x, tokens.positions)

    def queries_keys_values(
        self,
        x: Tensor,
        context: Tensor | None,
        tokens: Tokens,
        context_tokens: Tokens | None,
        position: PositionalEncoding,
        cache: Cache | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tokens]:
        """q, k, v and the tokens of k and v: the context's, or with a cache all that it holds."""
        keys = tokens if context_tokens is None else context_tokens
        q, k, v = self.project(x, x if context is None else context)
        q, k = self.rotate(q, tokens, position), self.rotate(k, keys, position)
        if cache is not None:
            k, v, keys = cache.extend(k, v, keys)
        return q, k, v, keys

    def load_canonical(self, weights: CanonicalWeights) -> None:
        """Copy the canonical weights into this variant's layout."""
        self.project.load(weights)
        with torch.no_grad():
            self.out.weight.copy_(weights.wo)
            self.out.bias.copy_(weights.bo)


class MultiHead(ProjectedAttention):
    """Masks and biases are done as well; a subclass implements ``attend``."""

    @abstractmethod
    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The output of each head (B, H, Lq, Dh).

        q: (B, H, Lq, Dh); k, v: (B, H, Lk, Dh). mask: bool, broadcastable to (B, H, Lq, Lk), True
        where a query may attend. bias: added to the scores, broadcastable to the same shape.
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
        return self.attend(q, k, v, *self.mask_and_bias(q, queries, keys, position, causal))

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
        q, k, _, keys = self.queries_keys_values(x, context, tokens, context_tokens, position)
        return softmax_weights(q, k, *self.mask_and_bias(q, tokens, keys, position, causal))

    def mask_and_bias(
        self, q: Tensor, queries: Tokens, keys: Tokens, position: PositionalEncoding, causal: bool
    ) -> tuple[Tensor | None, Tensor | None]:
        """The mask and the bias of every pair of query and key, as ``attend`` takes them."""
        bias = position.bias(queries.positions, keys.positions)
        mask = may_attend(queries, keys, causal)
        return mask, None if bias is None else bias.to(q.dtype)
