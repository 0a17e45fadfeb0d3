"""Pools that read the first token, or all of them."""

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
    """The vector of the first real token, [CLS].

    x₀, where the tokenizer puts [CLS] (Devlin et al. 2019, section 3.1).
    """

    reads = slice(0, 1)

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        if attention_mask is None or x.shape[1] == 1:
            return x[:, 0]
        first = attention_mask.int().argmax(dim=1)[:, None, None]
        return x.gather(1, first.expand(-1, 1, x.shape[2]))[:, 0]


@part(
    "pool", "mean", source="Reimers and Gurevych 2019, section 3, https://arxiv.org/abs/1908.10084"
)
class Mean(Pool):
    """The mean of all tokens, without padding.

    Σ x · real / Σ real (Reimers and Gurevych 2019, section 3); an empty text gives zero.
    """

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        if attention_mask is None:
            return x.mean(dim=1)
        real = attention_mask[..., None]
        # Masked, not multiplied: NaN times zero is NaN, and padding must not change the result.
        total = x.masked_fill(~real, 0).sum(dim=1)
        return total / real.sum(dim=1).clamp_min(1).to(x.dtype)
