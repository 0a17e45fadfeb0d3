"""A learned vector per position, added to the embeddings."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.pe.base import PositionalEncoding
from zoo.registry.declarations import part


@part(
    "pe",
    "learned",
    source="Gehring et al. 2017, section 3.1, https://arxiv.org/abs/1705.03122",
    adds=("embed", "order", "fixed-length"),
)
class Learned(PositionalEncoding):
    """A learned vector per position added to the embeddings.

    x + P[position] (Gehring et al. 2017, section 3.1; Devlin et al. 2019).

    The table starts small (standard deviation ``std``), so that untrained positions do not
    outweigh the tokens. A position of max_length or above raises IndexError.
    """

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, std: float = 0.02
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.table = nn.Embedding(max_length, dim)
        nn.init.normal_(self.table.weight, std=std)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        table: Tensor = self.table(positions)
        return x + table
