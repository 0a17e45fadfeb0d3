"""Embedding, encoding and a stack of blocks: what encoders and decoders have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.dropout import dropout
from zoo.components.pe.base import PositionalEncoding
from zoo.models.decoding.cache import DecoderCache


class Stack(nn.Module):
    """A stack of blocks over embedded tokens; built modules are passed in.

    final_norm: the norm after the last block, where the block wants one.
    embedding_norm: a norm before the first block, as BERT has it (Devlin et al. 2019).
    max_length: the most tokens it takes, where one of its parts knows no more; else None.
    caches: whether its attention keeps keys and values between decoding steps.
    read_last: whether the last block may compute only the rows that the caller reads.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        position: PositionalEncoding,
        blocks: Sequence[Block],
        final_norm: nn.Module | None,
        *,
        embedding_norm: nn.Module | None = None,
        dropout: float = 0.0,
        max_length: int | None = None,
        caches: bool = True,
        read_last: bool = True,
    ) -> None:
        super().__init__()
        self.embedding, self.position = embedding, position
        self.embedding_norm = embedding_norm
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm
        self.dropout, self.max_length = dropout, max_length
        self.caches, self.read_last = caches, read_last

    def run(self, ids: Tensor, scene: LayerContext, cache: DecoderCache | None = None) -> Tensor:
        """Ids (B, L) to vectors (B, L, D), or to the rows of L that ``scene.read`` names.

        cache: a pair of stores for every block, for those that attend with one.
        """
        x = self.position.embed(self.embedding(ids), scene.tokens.positions)
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        x = dropout(x, self.dropout, self.training)
        last = len(self.blocks) - 1
        for number, block in enumerate(self.blocks):
            early = self.read_last and number == last
            here = scene if early else replace(scene, read=None)
            if cache is not None:
                here = replace(here, cache=cache.own[number], memory_cache=cache.memory[number])
            x = cast(Block, block)(x, here)
        if scene.read is not None and not (self.read_last and len(self.blocks)):
            x = x[:, scene.read]
        return x if self.final_norm is None else self.final_norm(x)
