"""The first token's vector."""

from __future__ import annotations

from torch import Tensor

from zoo.components.pool.base import Pool


class Cls(Pool):
    """x₀, where the tokenizer puts [CLS] (Devlin et al. 2019, section 3.1)."""

    reads = slice(0, 1)

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        return x[:, 0]
