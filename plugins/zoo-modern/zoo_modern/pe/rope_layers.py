"""A rotary encoding whose base differs between layers."""

from __future__ import annotations

from zoo import part
from zoo.components.pe.rope import Rotary


@part(
    "pe",
    "rope-layers",
    source="Warner et al. 2024, ModernBERT, section 2.1.2, https://arxiv.org/abs/2412.13663",
)
class LayeredRotary(Rotary):
    """A rotary encoding whose base differs between layers.

    RoPE; layer l, from 0, has the base bases[l mod len(bases)].

    Warner et al. 2024, ModernBERT, section 2.1.2: 160,000 in the first of every three layers, the
    others 10,000 (there the latter attend locally, which is left to the attention here). Gemma 3
    (Gemma Team 2025, section 2) has five times 10,000, then 1,000,000.
    """

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        max_length: int,
        layer_index: int = 0,
        bases: tuple[float, ...] = (160000.0, 10000.0, 10000.0),
    ) -> None:
        if not bases:
            raise ValueError("bases must have at least one base")
        base = bases[layer_index % len(bases)]
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length, base=base)
