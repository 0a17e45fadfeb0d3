"""The block contract: a layer's sub-layers, and the one line that arranges each of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from zoo.components.attention.base import Attention, Cache
from zoo.components.dropout import dropout
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens


@dataclass(frozen=True)
class LayerContext:
    """What a layer is given besides x (B, L, D).

    tokens: of x. position: the encoding, whose rotate and bias slots attention uses.
    read: the positions of L that the caller reads; None for all. A layer computes no others.
    memory, memory_tokens: the encoder's output and its tokens, for cross-attention.
    cache, memory_cache: of self-attention and of cross-attention. Both take only what is new:
    x, and memory where memory_cache does not hold it yet.
    """

    tokens: Tokens
    position: PositionalEncoding
    causal: bool = False
    read: slice | None = None
    cache: Cache | None = None
    memory: Tensor | None = None
    memory_tokens: Tokens | None = None
    memory_cache: Cache | None = None


Sublayer = Callable[[Tensor], Tensor]


class Block(nn.Module, ABC):
    """Built as ``Block(attention, ffn, norm, dropout=, cross=)``; subclasses have ``arrange``.

    ffn: None where the layer has none. norm: a factory, called once for every norm of the block.
    cross: the cross-attention of a decoder, between the other two sub-layers.
    final_norm: whether the stack needs a norm after its last block.
    """

    final_norm: ClassVar[bool] = False

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
        self.dropout = dropout
        self.attention, self.attention_norm = attention, norm()
        self.cross, self.cross_norm = cross, norm() if cross is not None else None
        self.ffn, self.ffn_norm = ffn, norm() if ffn is not None else None

    @abstractmethod
    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        """Combine one sub-layer, its norm and its residual.

        x: (B, L, D). The sub-layer returns only the positions ``rows`` of L, so a residual adds
        ``x[:, rows]``. Apply ``self.drop`` to the sub-layer's output.
        """

    def drop(self, x: Tensor) -> Tensor:
        """Dropout, while training."""
        return dropout(x, self.dropout, self.training)

    def forward(self, x: Tensor, context: LayerContext) -> Tensor:
        """(B, L, D) to (B, L, D), or to the positions in ``context.read``."""
        rows = slice(None) if context.read is None else context.read
        x = self.arrange(x, lambda h: self._attend(h, context), self.attention_norm, rows)
        if self.cross is not None and self.cross_norm is not None:
            x = self.arrange(
                x, lambda h: self._cross_attend(h, context), self.cross_norm, slice(None)
            )
        if self.ffn is not None and self.ffn_norm is not None:
            x = self.arrange(x, self.ffn, self.ffn_norm, slice(None))
        return x

    def _attend(self, h: Tensor, context: LayerContext) -> Tensor:
        """Self-attention; queries only from the positions that are read."""
        options = {"position": context.position, "causal": context.causal, "cache": context.cache}
        if context.read is None:
            out: Tensor = self.attention(h, tokens=context.tokens, **options)
        else:
            out = self.attention(
                h[:, context.read],
                context=h,
                tokens=context.tokens[context.read],
                context_tokens=context.tokens,
                **options,
            )
        return out

    def _cross_attend(self, h: Tensor, context: LayerContext) -> Tensor:
        """Cross-attention: queries from the decoder, keys and values from the encoder.

        One well-known tutorial takes the queries from the encoder's output, which would give one
        output per source token and not one per target token.
        Rotations and biases compare positions within one text, so none is applied here.
        """
        assert self.cross is not None
        if context.memory is None or context.memory_tokens is None:
            raise ValueError("a block with cross-attention needs a memory")
        tokens = context.tokens if context.read is None else context.tokens[context.read]
        out: Tensor = self.cross(
            h,
            context=context.memory,
            tokens=tokens,
            context_tokens=context.memory_tokens,
            position=_NO_POSITIONS,
            cache=context.memory_cache,
        )
        return out


_NO_POSITIONS = PositionalEncoding(dim=0, heads=0, head_dim=0, max_length=0)
