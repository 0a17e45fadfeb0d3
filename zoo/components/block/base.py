"""The block contract: a layer's sub-layers, and the one line that arranges each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext as LayerContext
from zoo.components.pe.base import NO_POSITIONS

Sublayer = Callable[[Tensor], Tensor]


class Block(nn.Module):
    """Built as ``Block(attention, ffn, norm, dropout=, cross=)``; subclasses have ``arrange``.

    ffn: None where the layer has none. norm: a factory, called once for every norm of the block.
    cross: the cross-attention of a decoder, between the other two sub-layers.
    final_norm: whether the stack needs a norm after its last block. normed: whether its sub-layers
    have norms; where False, none is built, and ``arrange`` is given the identity.
    packs: whether but for its attention it takes each token by itself, draws nothing for a text and
    leaves nothing of that shape: it may then be given a row of texts (``Tokens.packing``).
    """

    capabilities: ClassVar[tuple[str, ...]] = ("residual", "cross")
    final_norm: ClassVar[bool] = False
    normed: ClassVar[bool] = True
    packs: ClassVar[bool] = False

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

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        """(B, L, D) to (B, L, D), or to the positions in ``layer.read``."""
        x = self.arrange(x, lambda h: self.attend(h, layer), self.attention_norm, layer.rows)
        if self.cross is not None and self.cross_norm is not None:
            x = self.arrange(x, lambda h: self.cross_attend(h, layer), self.cross_norm, slice(None))
        if self.ffn is not None and self.ffn_norm is not None:
            x = self.arrange(x, lambda h: self.feed_forward(h, layer), self.ffn_norm, slice(None))
        return x

    def attend(self, h: Tensor, layer: LayerContext) -> Tensor:
        """Self-attention: h (B, L, D) to the positions of L that are read."""
        if not self.attention.takes_packed(layer) and layer.tokens.packing is not None:
            return padded(self.attention, h, layer)
        if layer.read is None:
            out: Tensor = self.attention(h, layer)
        else:
            few = replace(layer.for_rows(), context=h, context_tokens=layer.tokens)
            out = self.attention(h[:, layer.read], few)
        return out

    def feed_forward(self, h: Tensor, layer: LayerContext, ffn: nn.Module | None = None) -> Tensor:
        """A feed-forward network, by default the block's; h holds the positions that are read."""
        ffn = self.ffn if ffn is None else ffn
        assert ffn is not None
        out: Tensor = ffn(h, layer.for_rows())
        return out

    def cross_attend(self, h: Tensor, layer: LayerContext) -> Tensor:
        """Cross-attention: queries from the decoder, keys and values from the encoder.

        Rotations and biases compare positions within one text, so none is applied here.
        """
        assert self.cross is not None
        if layer.memory is None or layer.memory_tokens is None:
            raise ValueError("a block with cross-attention needs a memory")
        across = layer.for_rows().scoped(
            "cross",
            position=NO_POSITIONS,
            causal=False,
            context=layer.memory,
            context_tokens=layer.memory_tokens,
            cache=layer.memory_cache,
        )
        return padded(self.cross, h, across)


def padded(attention: Callable[..., Tensor], h: Tensor, layer: LayerContext) -> Tensor:
    """An attention over h (B, L, D), or over a row of texts, which are padded for it."""
    packing = layer.tokens.packing
    if packing is None:
        return attention(h, layer)
    return packing.pack(attention(packing.pad(h), replace(layer, tokens=packing.padded)))
