"""Token ids to vectors; every token attends to all others."""

from __future__ import annotations

from torch import Tensor

from zoo.components.block.base import LayerContext
from zoo.components.tokens import Tokens
from zoo.models.stack import Stack


class Encoder(Stack):
    """The left half of Vaswani et al. 2017, figure 1."""

    def forward(self, ids: Tensor, tokens: Tokens, read: slice | None = None) -> Tensor:
        """Ids (B, L) to vectors (B, L, D), or to the positions of L in ``read``."""
        return self.run(ids, LayerContext(tokens, self.position, read=read))
