"""The block contract: a layer's sub-layers, and the one line that arranges each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext as LayerContext
from zoo.components.layer_context import with_layer
from zoo.components.pe.base import PositionalEncoding

Sublayer = Callable[[Tensor], Tensor]


class Block(nn.Module):
    """Built as ``Block(attention, ffn, norm, dropout=, cross=)``; subclasses have ``arrange``.

    ffn: None where the layer has none. norm: a factory, called once for every norm of the block.
    cross: the cross-attention of a decoder, between the other two sub-layers.
    final_norm: whether the stack needs a norm after its last block. normed: whether its sub-layers
    have norms; where False, none is built, and ``arrange`` is given the identity.
    """

    final_norm: ClassVar[bool] = False
    normed: ClassVar[bool] = True

    def __init__(
        self,
        attention: Attention,
        ffn: nn.Module | None,
        norm: Callable[[], nn.Module],
        *,
        dropout: float = 0.0,
        cross: Attention | None = None,
    ) -> None:
        super().__init__()
        norm = norm if self.normed else nn.Identity
        self.dropout = dropout
        self.attention, self.attention_norm = attention, norm()
        self.cross, self.cross_norm = cross, norm() if cross is not None else None
        self.ffn, self.ffn_norm = ffn, norm() if ffn is not None else None

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        """Combine one sub-layer, its norm and its residual.

        x: (B, L, D). The sub-layer returns only the positions ``rows`` of L, so a residual adds
        ``x[:, rows]``. Apply ``self.drop`` to the sub-layer's output. To be written, unless the
        subclass has a ``forward`` of its own.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither arrange nor forward")

    def drop(self, x: Tensor) -> Tensor:
        """Dropout, while training."""
        return dropout(x, self.dropout, self.training)

    def forward(self, x: Tensor, context: LayerContext) -> Tensor:
        """(B, L, D) to (B, L, D), or to the positions in ``context.read``."""
        x = self.arrange(x, lambda h: self.attend(h, context), self.attention_norm, context.rows)
        if self.cross is not None and self.cross_norm is not None:
            x = self.arrange(
                x, lambda h: self.cross_attend(h, context), self.cross_norm, slice(None)
            )
        if self.ffn is not None and self.ffn_norm is not None:
            x = self.arrange(x, lambda h: self.feed_forward(h, context), self.ffn_norm, slice(None))
        return x

    def attend(self, h: Tensor, context: LayerContext) -> Tensor:
        """Self-attention: h (B, L, D) to the positions of L that are read."""
        options = {
            "position": context.position,
            "causal": context.causal,
            "cache": context.cache,
            **with_layer(self.attention, "forward", context),
        }
        if context.read is None:
            out: Tensor = self.attention(h, tokens=context.tokens, **options)
        else:
            out = self.attention(
                h[:, context.read],
                context=h,
                tokens=context.out_tokens,
                context_tokens=context.tokens,
                **options,
            )
        return out

    def feed_forward(
        self, h: Tensor, context: LayerContext, ffn: nn.Module | None = None
    ) -> Tensor:
        """A feed-forward network, by default the block's: h (B, L, D) to (B, L, D)."""
        ffn = self.ffn if ffn is None else ffn
        assert ffn is not None
        out: Tensor = ffn(h, **with_layer(ffn, "forward", context))
        return out

    def cross_attend(self, h: Tensor, context: LayerContext) -> Tensor:
        """Cross-attention: queries from the decoder, keys and values from the encoder.

        One well-known tutorial takes the queries from the encoder's output, which would give one
        output per source token and not one per target token.
        Rotations and biases compare positions within one text, so none is applied here.
        """
        assert self.cross is not None
        if context.memory is None or context.memory_tokens is None:
            raise ValueError("a block with cross-attention needs a memory")
        layer = context.scoped(
            "cross", position=_NO_POSITIONS, causal=False, cache=context.memory_cache
        )
        out: Tensor = self.cross(
            h,
            context=context.memory,
            tokens=context.out_tokens,
            context_tokens=context.memory_tokens,
            position=_NO_POSITIONS,
            cache=context.memory_cache,
            **with_layer(self.cross, "forward", layer),
        )
        return out


_NO_POSITIONS = PositionalEncoding(dim=0, heads=0, head_dim=0, max_length=0)
