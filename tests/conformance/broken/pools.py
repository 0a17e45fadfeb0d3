"""Pools that are wrong in one way each."""

from __future__ import annotations

from typing import ClassVar

from specimens import Specimens, registering

from zoo.components.pool.base import Pool
from zoo.components.pool.cls import Cls
from zoo.components.pool.mean import Mean

broken = Specimens("pool")
zoo_register = registering(broken)


@broken.caught_by("padding-invariance", "text 1 against unpadded")
class MeanOverPadding(Pool):
    def forward(self, x, attention_mask):
        return x.mean(dim=1)


@broken.caught_by("padding-invariance", "6 tokens, padding on the right: nan in padding")
class MultipliesTheMask(Pool):
    def forward(self, x, attention_mask):
        if attention_mask is None:
            return x.mean(dim=1)
        real = attention_mask[..., None].to(x.dtype)
        return (x * real).sum(dim=1) / real.sum(dim=1).clamp_min(1)


@broken.caught_by("empty-documents", "not finite")
class DividesByNothing(Pool):
    def forward(self, x, attention_mask):
        if attention_mask is None:
            return x.mean(dim=1)
        real = attention_mask[..., None]
        return x.masked_fill(~real, 0).sum(dim=1) / real.sum(dim=1)


@broken.caught_by("reads", "reads rows \\[1, 2, 3, 4, 5, 6\\]")
class ReadsMoreThanItSays(Mean):
    reads: ClassVar[slice | None] = slice(0, 1)


@broken.caught_by("reads", "does not read rows")
class ReadsLessThanItSays(Cls):
    reads: ClassVar[slice | None] = None


@broken.caught_by("first", "reads = None", also=("first",))
class FirstInNameAlone(Mean):
    pass


@broken.caught_by("sizes", "width 24, 3 heads, 3 tokens, p")
class CentredOverTheBatch(Mean):
    def forward(self, x, attention_mask):
        out = super().forward(x, attention_mask)
        return out - out.mean(dim=0)


@broken.caught_by("shape-and-dtype", "shape \\(3, 1, 16\\)")
class KeepsTheLength(Pool):
    reads: ClassVar[slice | None] = slice(0, 1)

    def forward(self, x, attention_mask):
        return x[:, :1]
