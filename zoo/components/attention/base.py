"""The attention contract, and two base classes that do everything but the mixing."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from zoo.components.attention.projections import CanonicalWeights, Projection
from zoo.components.dropout import dropout as drop
from zoo.components.layer_context import Cache as Cache
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import may_attend, only_causal


def softmax_weights(q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """softmax(Q Kᵀ / √Dh + bias) over the keys that mask allows: (B, H, Lq, Lk)."""
    # q is scaled and not the scores: (Lq, Dh) numbers instead of (Lq, Lk), in both passes.
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1)


def softmax_attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    dropout: float = 0.0,
) -> Tensor:
    """softmax(Q Kᵀ / √Dh + bias) V, with dropout on the weights: (B, H, Lq, Dh)."""
    return drop(softmax_weights(q, k, mask, bias), dropout) @ v


class Attention(nn.Module, ABC):
    """Built as ``Attention(dim, heads, dropout=…)``.

    heads, head_dim: how it splits the width; positional encodings are built with both.
    position_dim: the width of the queries and keys that it gives to encodings; None: head_dim.
    """

    heads: int
    head_dim: int
    position_dim: int | None = None

    def takes_packed(self, layer: LayerContext) -> bool:
        """Whether it keeps the texts of a row (``Tokens.packing``) apart; else they are padded."""
        return False

    @abstractmethod
    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        """Queries from x (B, Lq, D), keys and values from layer.context (B, Lk, D; None: x).

        Returns (B, Lq, D).
        """


class ProjectedAttention(Attention):
    """Projections, heads, rotation and cache are done; a subclass implements ``mix``.

    MultiHead(Q, K, V) = Concat(head_1 .. head_H) W_o, head_i = Mix(Q W_q, K W_k, V W_v)
    (Vaswani et al. 2017, section 3.2.2). For variants that compare no (Lq, Lk) pairs and must
    not build a mask or bias of that size; all others subclass MultiHead.

    projection: the class of the projections, built with (dim, heads). A variant whose projections
    need more passes them, built, to ``__init__``; they keep the weights that they have.
    """

    capabilities: ClassVar[tuple[str, ...]] = ("rotate", "cross", "cache")
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

    def adjust(
        self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor]:
        """q (B, H, Lq, Dh), k and v (B, Hk, L, Dh) of the new tokens, before rotation and cache."""
        return q, k, v

    def rotate(self, q: Tensor, k: Tensor, layer: LayerContext) -> tuple[Tensor, Tensor]:
        """q (B, H, Lq, Dh) and k (B, Hk, L, Dh) of the new tokens, rotated by the encoding."""
        position = layer.position
        return (
            position.rotate(q, layer.tokens.positions),
            position.rotate_keys(k, layer.keys.positions),
        )

    @abstractmethod
    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        """The output of each head (B, H, Lq, Dh).

        q: (B, H, Lq, Dh), described by layer.tokens; k, v: (B, H, Lk, Dh), described by layer.keys.
        q and k are rotated already; adding the encoding's bias is left to this method.
        """

    def output(self, heads: Tensor, x: Tensor, layer: LayerContext) -> Tensor:
        """The heads' outputs (B, H, Lq, Dh), and the layer's input x (B, Lq, D), to (B, Lq, D)."""
        out: Tensor = self.out(heads.transpose(1, 2).flatten(2))
        return out

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        q, k, v, seen = self.queries_keys_values(x, layer)
        return self.output(self.mix(q, k, v, seen), x, layer)

    def queries_keys_values(
        self, x: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor, LayerContext]:
        """q, k, v and the layer for ``mix``, whose keys are with a cache all that it holds.

        Keys and values of fewer heads than queries are kept so by the cache, and then repeated:
        each serves H / Hk heads that follow one another (Ainslie et al. 2023, section 2.2).
        """
        q, k, v = self.project(x, x if layer.context is None else layer.context)
        q, k, v = self.adjust(q, k, v, layer)
        q, k = self.rotate(q, k, layer)
        if layer.cache is not None:
            k, v, keys = layer.cache.extend(k, v, layer.keys)
            layer = replace(layer, context_tokens=keys)
        if k.shape[1] != q.shape[1]:
            groups = q.shape[1] // k.shape[1]
            k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        return q, k, v, layer

    def load_canonical(self, weights: CanonicalWeights) -> None:
        """Copy the canonical weights into this variant's layout."""
        self.project.load(weights)
        self.load_out(weights)

    def load_out(self, weights: CanonicalWeights) -> None:
        """Copy the canonical weights of the output alone."""
        with torch.no_grad():
            self.out.weight.copy_(weights.out)
            self.out.bias.copy_(weights.out_bias)


class MultiHead(ProjectedAttention):
    """Masks and biases are done as well; a subclass implements ``attend``.

    One that needs the layer, or the mask and the bias apart, overrides ``mix``.
    causal_kernel: whether ``attend`` takes ``causal=True`` in place of a mask that is the lower
    triangle alone. It is then given neither mask nor bias.
    """

    capabilities: ClassVar[tuple[str, ...]] = (
        "rotate",
        "bias",
        "content-bias",
        "padding",
        "causal",
        "cross",
        "cache",
    )
    causal_kernel: ClassVar[bool] = False

    @abstractmethod
    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The output of each head (B, H, Lq, Dh).

        q: (B, H, Lq, Dh); k, v: (B, H, Lk, Dh); q and k are rotated already. mask: bool, True
        where a query may attend. bias: added to the scores. Both are broadcastable to
        (B, H, Lq, Lk), with two to four dimensions, or None.
        """

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        triangle = layer.causal and only_causal(layer.tokens, layer.keys)
        if self.causal_kernel and triangle and not layer.position.adds_bias:
            kernel: Callable[..., Tensor] = self.attend
            return kernel(q, k, v, None, None, causal=True)
        return self.attend(q, k, v, *self.mask_and_bias(q, k, layer))

    def weights(self, x: Tensor, layer: LayerContext) -> Tensor:
        """The attention map (B, H, Lq, Lk); each row of softmax attention sums to one."""
        q, k, _, layer = self.queries_keys_values(x, layer)
        return softmax_weights(q, k, *self.mask_and_bias(q, k, layer))

    def mask_and_bias(
        self, q: Tensor, k: Tensor, layer: LayerContext
    ) -> tuple[Tensor | None, Tensor | None]:
        """The mask and the bias of every pair of query and key, as ``attend`` takes them."""
        position, places = layer.position, (layer.tokens.positions, layer.keys.positions)
        bias = position.bias(*places)
        mask = may_attend(layer.tokens, layer.keys, layer.causal)
        bias = None if bias is None else bias.to(q.dtype)
        content = position.content_bias(q, k, *places, mask)
        if content is None:
            return mask, bias
        return mask, content.to(q.dtype) if bias is None else bias + content.to(q.dtype)
