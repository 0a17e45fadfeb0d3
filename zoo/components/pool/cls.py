"""The first token's vector."""

from __future__ import annotations

from torch import Tensor

from zoo.components.pool.base import Pool
from zoo.registry.declarations import part


@part(
    "pool",
    "cls",
    source="Devlin et al. 2019, section 3.1, https://arxiv.org/abs/1810.04805",
    adds=("first",),
)
class Cls(Pool):
    """The vector of the first token, [CLS].

    x₀, where the tokenizer puts [CLS] (Devlin et al. 2019, section 3.1).
    """

    reads = slice(0, 1)

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        return x[:, 0]
