"""Encoders and decoders: embedding, encoding and a stack of blocks."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.dropout import dropout
from zoo.components.layer_context import AuxiliaryLoss
from zoo.components.one_pass import one_pass
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import DecoderCache


class ScaledEmbedding(nn.Embedding):
    """√D · W[id], with W ~ N(0, σ²/D) (Vaswani et al. 2017, section 3.4, for σ = 1).

    With σ = 1 the vectors start like nn.Embedding's and learn √D times as fast at the same learning
    rate, as a model trained from scratch on a thousand documents needs. Where no norm follows, a
    small σ keeps rare words, which training hardly changes, from dominating the others.
    """

    def __init__(self, vocab_size: int, dim: int, std: float = 1.0) -> None:
        super().__init__(vocab_size, dim)
        self.scale = math.sqrt(dim)
        nn.init.normal_(self.weight, std=std / self.scale)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (B, L) to vectors (B, L, D)."""
        return super().forward(ids) * self.scale


class Stack(nn.Module):
    """A stack of blocks over embedded tokens; built modules are passed in.

    position: adds to the embeddings. layer_positions: for each block the encoding that rotates and
    biases there. final_norm: the norm after the last block, for blocks that need one.
    embedding_norm: a norm before the first block, as in BERT (Devlin et al. 2019). max_length: the
    most tokens it takes; None for no limit. caches: whether its attention supports a cache.
    all_positions: compute every position in the last block, also those that the caller does not
    read. losses: a list, while somebody collects the auxiliary losses.
    packs: work on real tokens alone, in a row without padding. Off: on a CPU it is equal and
    slower, and no GPU has shown yet that it is right and faster there.
    by_token: whether every part but the attention takes each token by itself, as a row demands.
    """

    losses: list[AuxiliaryLoss] | None = None
    packs: ClassVar[bool] = False

    def __init__(
        self,
        embedding: nn.Embedding,
        position: PositionalEncoding,
        layer_positions: Sequence[PositionalEncoding],
        blocks: Sequence[Block],
        final_norm: nn.Module | None,
        *,
        dropout: float,
        max_length: int | None,
        caches: bool,
        all_positions: bool,
        by_token: bool = False,
    ) -> None:
        super().__init__()
        self.embedding, self.position = embedding, position
        positions = list(dict.fromkeys([position, *layer_positions]))
        self.other_positions = nn.ModuleList(positions[1:])
        self.position_of_layer = [positions.index(each) for each in layer_positions]
        self.embedding_norm: nn.Module | None = None
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm
        self.dropout, self.max_length = dropout, max_length
        self.caches, self.all_positions = caches, all_positions
        self.by_token = by_token

    def run(self, ids: Tensor, layer: LayerContext, cache: DecoderCache | None = None) -> Tensor:
        """Ids (B, L) to vectors (B, L, D), or to the positions of L in ``layer.read``.

        ids: or what ``embedding`` gives for them (B, L, D).
        cache: a pair of key/value stores for every block.
        """
        with contextlib.nullcontext() if torch.compiler.is_compiling() else one_pass():
            return self._run(ids, layer, cache)

    def _run(self, ids: Tensor, layer: LayerContext, cache: DecoderCache | None) -> Tensor:
        positions = [cast(PositionalEncoding, p) for p in (self.position, *self.other_positions)]
        tokens = [_placed(position, layer.tokens) for position in positions]
        x = ids if ids.is_floating_point() else self.embedding(ids)
        x = self.position.embed(x, tokens[0].positions)
        if self.packs and self.by_token and cache is None and not torch.compiler.is_compiling():
            tokens = [each.packed() for each in tokens]
        packing = tokens[0].packing
        if packing is not None:
            x = packing.pack(x)
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        x = dropout(x, self.dropout, self.training)
        count = len(self.blocks)
        layer = replace(layer, count=count, shared={}, losses=self.losses)
        read_in_last = not self.all_positions and count > 0
        for number, block in enumerate(self.blocks):
            own = self.position_of_layer[number]
            reads = layer.read if read_in_last and number == count - 1 else None
            if packing is not None and reads is not None:
                x, packing = packing.pad(x), None
                tokens = [each.packing.padded for each in tokens if each.packing is not None]
            x = block(
                x,
                replace(
                    layer,
                    tokens=tokens[own],
                    position=positions[own],
                    read=reads,
                    index=number,
                    cache=None if cache is None else cache.self_attention[number],
                    memory_cache=None if cache is None else cache.cross_attention[number],
                ),
            )
        if cache is not None:
            cache.length += ids.shape[1]
        if packing is not None:
            x = packing.pad(x)
        if layer.read is not None and not read_in_last:
            x = x[:, layer.read]
        return x if self.final_norm is None else self.final_norm(x)


def _placed(position: PositionalEncoding, tokens: Tokens) -> Tokens:
    """The tokens at the positions where an encoding places them; most leave them as they are."""
    placed = position.place(tokens.positions)
    return tokens if placed is tokens.positions else replace(tokens, positions=placed)


class Encoder(Stack):
    """The left half of Vaswani et al. 2017, figure 1."""

    def forward(self, ids: Tensor, tokens: Tokens, read: slice | None = None) -> Tensor:
        """Ids (B, L) to vectors (B, L, D), or to the positions of L in ``read``."""
        return self.run(ids, LayerContext(tokens, self.position, read=read))


class Decoder(Stack):
    """The right half of Vaswani et al. 2017, figure 1; without cross-attention, GPT's.

    A token may attend to real tokens whose position is not above its own. So padding may stand to
    the left or to the right, as long as the positions count real tokens only.
    """

    def forward(
        self,
        ids: Tensor,
        tokens: Tokens,
        memory: Tensor | None = None,
        memory_tokens: Tokens | None = None,
        *,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Ids (B, L) to vectors (B, L, D).

        memory (B, Lm, D), memory_tokens: an encoder's output, for cross-attention.
        cache: of this decoder; ids and tokens are those after the ones it holds.
        """
        if cache is not None and cache.length and memory is not None and memory_tokens is not None:
            # The cache holds its keys and values: there is nothing new to project.
            memory, memory_tokens = memory[:, :0], memory_tokens[:0]
        layer = LayerContext(
            tokens, self.position, causal=True, memory=memory, memory_tokens=memory_tokens
        )
        return self.run(ids, layer, cache)

    def new_cache(self) -> DecoderCache:
        """An empty cache; ValueError where the attention supports none."""
        if not self.caches:
            raise ValueError("this model's attention keeps no cache")
        return DecoderCache(len(self.blocks))
