"""Token ids to vectors: embedding, encoding, a stack of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.block.base import Block, Scene
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens


class Encoder(nn.Module):
    """A stack of blocks over embedded tokens; built modules are passed in.

    final_norm: the norm after the last block, where the block wants one.
    read_last: whether the last block may compute only the rows that the caller reads.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        position: PositionalEncoding,
        blocks: Sequence[Block],
        final_norm: nn.Module | None,
        *,
        dropout: float = 0.0,
        read_last: bool = True,
    ) -> None:
        super().__init__()
        self.embedding, self.position = embedding, position
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm
        self.dropout, self.read_last = dropout, read_last

    def forward(self, ids: Tensor, tokens: Tokens, read: slice | None = None) -> Tensor:
        """Ids (B, L) to vectors (B, L, D), or to the rows of L that ``read`` names."""
        x = self.position.embed(self.embedding(ids), tokens.positions)
        x = F.dropout(x, self.dropout, self.training)
        scene = Scene(tokens, self.position)
        last = len(self.blocks) - 1
        for number, block in enumerate(self.blocks):
            early = read is not None and self.read_last and number == last
            x = cast(Block, block)(x, replace(scene, read=read) if early else scene)
        if read is not None and not (self.read_last and len(self.blocks)):
            x = x[:, read]
        return x if self.final_norm is None else self.final_norm(x)
