"""The attention contract, and two base classes that do everything but the mixing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

import torch
from torch import Tensor, nn

from zoo.components.attention.projections import CanonicalWeights, Projection
from zoo.components.attention.softmax import softmax_weights
from zoo.components.attention.undeclared import undeclared
from zoo.components.layer_context import Cache as Cache
from zoo.components.layer_context import LayerContext, with_layer
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens, may_attend


class Attention(nn.Module, ABC):
    """Built as ``Attention(dim, heads, dropout=…)``.

    heads, head_dim: how it splits the width; positional encodings are built with both.
    position_dim: the width of the queries and keys that it gives to encodings; None: head_dim.
    declared: the capabilities of its registration; None where it is built without one, by its
    class alone.
    A ``forward`` that has a parameter ``layer`` is given the LayerContext as well.
    """

    heads: int
    head_dim: int
    position_dim: int | None = None
    declared: Collection[str] | None = None

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

    def refuse_undeclared(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        tokens: Tokens,
        context_tokens: Tokens | None = None,
        position: PositionalEncoding,
        causal: bool = False,
        cache: Cache | None = None,
    ) -> None:
        """ValueError where a call with these arguments needs what the registration lacks.

        The base classes below call it; a ``forward`` of one's own calls it with its arguments.
        """
        if self.declared is None:
            return
        who = f"attention {type(self).__name__}"
        missing = undeclared(
            self.declared,
            tokens,
            tokens if context_tokens is None else context_tokens,
            position,
            width=self.head_dim if self.position_dim is None else self.position_dim,
            causal=causal,
            cross=context is not None and context is not x,
            cache=cache is not None,
        )
        if missing:
            raise ValueError(f"{who} does not declare '{missing}', which the call needs")
        if "causal-only" in self.declared and not causal:
            raise ValueError(f"{who} declares 'causal-only', and the call is not causal")


class ProjectedAttention(Attention):
    """Projections, heads, rotation and cache are done; a subclass implements ``mix``.

    A call that needs what its registration does not declare is refused with a ValueError.

    MultiHead(Q, K, V) = Concat(head_1 .. head_H) W_o, head_i = Mix(Q W_q, K W_k, V W_v)
    (Vaswani et al. 2017, section 3.2.2). For variants that compare no (Lq, Lk) pairs and must
    not build a mask or bias of that size; all others subclass MultiHead.

    projection: the class of the projections, built with (dim, heads). A variant whose projections
    need more passes them, built, to ``__init__``; they keep the weights that they have.
    Each of ``queries_keys_values``, ``adjust``, ``mix`` and ``output`` that has a parameter
    ``layer`` is given the LayerContext.
    """

    projection: ClassVar[type[Projection]]

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, projection: Projection | None = None
    ) -> None:
        super().__init__()
        if heads < 1 or dim % heads:
            raise ValueError(f"width {dim} does not divide into {heads} heads")
        self.heads, self.head_dim, self.dropout = heads, dim // heads, dropout
        # Drawn first, so that one seed gives every variant the same weights.
        weights = CanonicalWeights.draw(dim)
        self.project = projection or self.projection(dim, heads)
        width = heads * (self.project.value_dim or self.head_dim)
        self.out = nn.Linear(width, dim)
        if projection is None:
            self.load_canonical(weights)
        elif width == dim:
            self.load_out(weights)

    def adjust(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q (B, H, Lq, Dh), k and v (B, Hk, L, Dh) of the new tokens, before rotation and cache."""
        return q, k, v

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

    def output(self, heads: Tensor, x: Tensor) -> Tensor:
        """The heads' outputs (B, H, Lq, Dh), and the layer's input x (B, Lq, D), to (B, Lq, D)."""
        out: Tensor = self.out(heads.transpose(1, 2).flatten(2))
        return out

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
        layer: LayerContext | None = None,
    ) -> Tensor:
        self.refuse_undeclared(
            x,
            context,
            tokens=tokens,
            context_tokens=context_tokens,
            position=position,
            causal=causal,
            cache=cache,
        )
        if layer is None:
            layer = LayerContext(context_tokens or tokens, position, causal=causal, cache=cache)
        q, k, v, keys = self.queries_keys_values(
            x,
            context,
            tokens,
            context_tokens,
            position,
            cache,
            **with_layer(self, "queries_keys_values", layer),
        )
        heads = self.mix(
            q, k, v, tokens, keys, position, causal, **with_layer(self, "mix", layer)
        )  # (B, H, Lq, Dh)
        return self.output(heads, x, **with_layer(self, "output", layer))

    def rotate(self, x: Tensor, tokens: Tokens, position: PositionalEncoding) -> Tensor:
        """Queries x (B, H, L, Dh) rotated by the encoding."""
        return position.rotate(x, tokens.positions)

    def rotate_keys(self, x: Tensor, tokens: Tokens, position: PositionalEncoding) -> Tensor:
        """Keys x (B, Hk, L, Dh) likewise; a subclass that has its own ``rotate`` alone uses it."""
        if type(self).rotate is not ProjectedAttention.rotate:
            return self.rotate(x, tokens, position)
        return position.rotate_keys(x, tokens.positions)

    def queries_keys_values(
        self,
        x: Tensor,
        context: Tensor | None,
        tokens: Tokens,
        context_tokens: Tokens | None,
        position: PositionalEncoding,
        cache: Cache | None = None,
        layer: LayerContext | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tokens]:
        """q, k, v and the tokens of k and v: the context's, or with a cache all that it holds.

        Keys and values of fewer heads than queries are kept so by the cache, and then repeated:
        each serves H / Hk heads that follow one another (Ainslie et al. 2023, section 2.2).
        """
        keys = tokens if context_tokens is None else context_tokens
        if layer is None:
            layer = LayerContext(keys, position, cache=cache)
        q, k, v = self.project(x, x if context is None else context)
        q, k, v = self.adjust(q, k, v, **with_layer(self, "adjust", layer))
        q, k = self.rotate(q, tokens, position), self.rotate_keys(k, keys, position)
        if cache is not None:
            k, v, keys = cache.extend(k, v, keys)
        if k.shape[1] != q.shape[1]:
            groups = q.shape[1] // k.shape[1]
            k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        return q, k, v, keys

    def load_canonical(self, weights: CanonicalWeights) -> None:
        """Copy the canonical weights into this variant's layout."""
        self.project.load(weights)
        self.load_out(weights)

    def load_out(self, weights: CanonicalWeights) -> None:
        """Copy the canonical weights of the output alone."""
        with torch.no_grad():
            self.out.weight.copy_(weights.wo)
            self.out.bias.copy_(weights.bo)


class MultiHead(ProjectedAttention):
    """Masks and biases are done as well; a subclass implements ``attend``.

    An ``attend`` that has a parameter ``layer`` is given the LayerContext.
    """

    @abstractmethod
    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The output of each head (B, H, Lq, Dh).

        q: (B, H, Lq, Dh); k, v: (B, H, Lk, Dh); q and k are rotated already. mask: bool, True
        where a query may attend. bias: added to the scores. Both are broadcastable to
        (B, H, Lq, Lk), with two to four dimensions, or None.
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
        layer: LayerContext | None = None,
    ) -> Tensor:
        mask, bias = self.mask_and_bias(q, queries, keys, position, causal)
        bias = self.with_content(bias, q, k, queries, keys, position, mask)
        if layer is None:
            layer = LayerContext(queries, position, causal=causal)
        return self.attend(q, k, v, mask, bias, **with_layer(self, "attend", layer))

    def weights(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        tokens: Tokens,
        context_tokens: Tokens | None = None,
        position: PositionalEncoding,
        causal: bool = False,
        layer: LayerContext | None = None,
    ) -> Tensor:
        """The attention map (B, H, Lq, Lk); each row of softmax attention sums to one."""
        self.refuse_undeclared(
            x,
            context,
            tokens=tokens,
            context_tokens=context_tokens,
            position=position,
            causal=causal,
        )
        given = {} if layer is None else with_layer(self, "queries_keys_values", layer)
        q, k, _, keys = self.queries_keys_values(
            x, context, tokens, context_tokens, position, None, **given
        )
        mask, bias = self.mask_and_bias(q, tokens, keys, position, causal)
        bias = self.with_content(bias, q, k, tokens, keys, position, mask)
        return softmax_weights(q, k, mask, bias)

    def mask_and_bias(
        self, q: Tensor, queries: Tokens, keys: Tokens, position: PositionalEncoding, causal: bool
    ) -> tuple[Tensor | None, Tensor | None]:
        """The mask and the bias of every pair of query and key, as ``attend`` takes them."""
        bias = position.bias(queries.positions, keys.positions)
        mask = may_attend(queries, keys, causal)
        return mask, None if bias is None else bias.to(q.dtype)

    def with_content(
        self,
        bias: Tensor | None,
        q: Tensor,
        k: Tensor,
        queries: Tokens,
        keys: Tokens,
        position: PositionalEncoding,
        mask: Tensor | None,
    ) -> Tensor | None:
        """The bias plus what the encoding computes from queries and keys, where it does."""
        content = position.content_bias(q, k, queries.positions, keys.positions, mask)
        if content is None:
            return bias
        return content.to(q.dtype) if bias is None else bias + content.to(q.dtype)
