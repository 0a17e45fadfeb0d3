"""Blocks that are wrong in one way each."""

from __future__ import annotations

from dataclasses import replace

import torch
from specimens import Specimens, registering

from zoo.components.block.bare import Bare
from zoo.components.block.post import Post
from zoo.components.block.pre import Pre
from zoo.components.pe.base import NO_POSITIONS
from zoo.components.tokens import Tokens

broken = Specimens("block", "residual", "cross")
zoo_register = registering(broken)


@broken.caught_by("residual", "yet the input does not pass")
class ResidualForgotten(Bare):
    pass


@broken.caught_by("residual", "must declare 'residual'", without=("residual",))
class ResidualUndeclared(Pre):
    pass


@broken.caught_by("final-norm", "final_norm is False")
class FinalNormForgotten(Pre):
    final_norm = False


@broken.caught_by("few-rows", "rows 150 and 151: ")
class ResidualOfTheFirstRows(Pre):
    def arrange(self, x, sublayer, norm, rows):
        out = self.drop(sublayer(norm(x)))
        return x[:, : out.shape[1]] + out


@broken.caught_by("sizes", "width 24, 3 heads, 3 tokens, f")
class RowsIgnored(Pre):
    def forward(self, x, layer):
        return super().forward(x, replace(layer, read=None))


@broken.caught_by("few-rows", "with and without an encoding")
class EncodingForgotten(Pre):
    def forward(self, x, layer):
        return super().forward(x, replace(layer, position=NO_POSITIONS))


@broken.caught_by("causality", "length 6, rows up to 0 after changing the future")
class CausalForgotten(Post):
    def forward(self, x, layer):
        return super().forward(x, replace(layer, causal=False))


@broken.caught_by("norms-apart", "a norm is called for 2 different inputs")
class OneNormForBoth(Pre):
    def __init__(self, attention, ffn, norm, *, dropout=0.0, cross=None):
        shared = norm()
        super().__init__(attention, ffn, lambda: shared, dropout=dropout, cross=cross)


@broken.caught_by("dropout-scale", "'NoneType' object is not callable")
class NeedsAnFfn(Pre):
    def forward(self, x, layer):
        return self.ffn(super().forward(x, layer), layer.for_rows())


@broken.caught_by("memory", "changing the memory")
class MemoryForgotten(Pre):
    def __init__(self, attention, ffn, norm, *, dropout=0.0, cross=None):
        super().__init__(attention, ffn, norm, dropout=dropout)


@broken.caught_by("undeclared", "takes a cross-attention", without=("cross",))
class CrossAttentionDropped(Pre):
    def __init__(self, attention, ffn, norm, *, dropout=0.0, cross=None):
        super().__init__(attention, ffn, norm, dropout=dropout)


@broken.caught_by("memory", "without a memory")
class NeedsNoMemory(Pre):
    def cross_attend(self, h, layer):
        return h if layer.memory is None else super().cross_attend(h, layer)


@broken.caught_by("memory", "values in the memory's padding")
class MemoryPaddingForgotten(Pre):
    def cross_attend(self, h, layer):
        if layer.memory is not None:
            whole = Tokens.whole(layer.memory.shape[1])
            layer = replace(layer, memory_tokens=whole)
        return super().cross_attend(h, layer)


@broken.caught_by("gradients", "no gradient reaches .*ffn")
class FfnForgotten(Pre):
    def forward(self, x, layer):
        rows = slice(None) if layer.read is None else layer.read
        return self.arrange(x, lambda h: self.attend(h, layer), self.attention_norm, rows)


@broken.caught_by("memory", "cache is never used", also=("cross",))
class MemoryCacheForgotten(Pre):
    def forward(self, x, layer):
        return super().forward(x, replace(layer, memory_cache=None))


@broken.caught_by("dropout-scale", "training gives 0.(7|80)")
class DropoutNotMadeUpFor(Pre):
    def drop(self, x):
        return x * (torch.rand_like(x) >= self.dropout) if self.training else x


@broken.caught_by("causality", "a call that is not causal against a causal one: differs by 0")
class AlwaysCausal(Pre):
    def attend(self, h, layer):
        return super().attend(h, replace(layer, causal=True))


@broken.caught_by("few-rows", "rows 150 and 151, causal: ")
class FewRowsForgetCausal(Pre):
    def attend(self, h, layer):
        return super().attend(h, replace(layer, causal=layer.causal and layer.read is None))


@broken.caught_by("residual", "of the output's entries are dropped")
class DropsTheSum(Pre):
    def arrange(self, x, sublayer, norm, rows):
        return self.drop(x[:, rows] + sublayer(norm(x)))


@broken.caught_by("final-norm", "not norm\\(x\\)")
class ResidualOfTheNormed(Pre):
    def arrange(self, x, sublayer, norm, rows):
        x = norm(x)
        return x[:, rows] + self.drop(sublayer(x))


@broken.caught_by("padding-invariance", "300 tokens, padding on the right: text 0 against unpadded")
class AttendsTo128(Pre):
    """Keeps only the padding mask of the first 128 tokens."""

    def attend(self, h, layer):
        mask = layer.tokens.attention_mask
        if mask is not None and mask.shape[1] > 128:
            mask = mask & (torch.arange(mask.shape[1], device=mask.device) < 128)
            layer = replace(layer, tokens=Tokens(mask, layer.tokens.positions))
        return super().attend(h, layer)
