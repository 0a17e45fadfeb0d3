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
    """What a layer needs to know beside x.

    tokens: of x. position: the encoding, whose rotate and bias slots attention uses.
    read: the rows of L that the caller will read; None for all. A layer computes no others.
    cache: of self-attention. memory_cache: of cross-attention; memory is then what is new to it.
    memory, memory_tokens: what cross-attention reads (a decoder's encoder output).
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
    """Built as ``Block(attention, ffn, norm, dropout=, cross=)``; a variant states ``arrange``.

    ffn: None where the layer has none. norm: a factory, called once for every norm that the
    block wants. cross: an attention from x to a memory, between the two, in a decoder.
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
        """Put one sub-layer, its norm and its residual together.

        x: (B, L, D). The sub-layer gives the rows of L asked for alone; a residual must take the
        same: ``x[:, rows]``. Use ``self.drop`` on what the sub-layer gives.
        """

    def drop(self, x: Tensor) -> Tensor:
        """Dropout, while training."""
        return dropout(x, self.dropout, self.training)

    def forward(self, x: Tensor, scene: LayerContext) -> Tensor:
        """(B, L, D) to (B, L, D), or to the rows that ``scene.read`` names."""
        rows = slice(None) if scene.read is None else scene.read
        x = self.arrange(x, lambda h: self._attend(h, scene), self.attention_norm, rows)
        if self.cross is not None and self.cross_norm is not None:
            x = self.arrange(x, lambda h: self._look(h, scene), self.cross_norm, slice(None))
        if self.ffn is not None and self.ffn_norm is not None:
            x = self.arrange(x, self.ffn, self.ffn_norm, slice(None))
        return x

    def _attend(self, h: Tensor, scene: LayerContext) -> Tensor:
        """Self-attention; where few rows are read, the queries come from those alone."""
        about = {"position": scene.position, "causal": scene.causal, "cache": scene.cache}
        if scene.read is None:
            out: Tensor = self.attention(h, tokens=scene.tokens, **about)
        else:
            out = self.attention(
                h[:, scene.read],
                context=h,
                tokens=scene.tokens[scene.read],
                context_tokens=scene.tokens,
                **about,
            )
        return out

    def _look(self, h: Tensor, scene: LayerContext) -> Tensor:
        """Cross-attention: queries from the decoder, keys and values from the encoder.

        One well-known tutorial has it the other way round: queries from the encoder's output. The
        decoder would then no longer have one output per token it has written.
        The encoding's rotations and biases tell positions within one text, so none is used here.
        """
        assert self.cross is not None
        if scene.memory is None or scene.memory_tokens is None:
            raise ValueError("a block with cross-attention needs a memory")
        tokens = scene.tokens if scene.read is None else scene.tokens[scene.read]
        out: Tensor = self.cross(
            h,
            context=scene.memory,
            tokens=tokens,
            context_tokens=scene.memory_tokens,
            position=_NOWHERE,
            cache=scene.memory_cache,
        )
        return out


_NOWHERE = PositionalEncoding(dim=0, heads=0, head_dim=0, max_length=0)
