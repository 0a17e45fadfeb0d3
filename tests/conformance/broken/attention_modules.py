"""Attentions that are wrong as modules: contexts, caches, maps, state, dtypes, declarations."""

from __future__ import annotations

import itertools
from dataclasses import replace

import torch
from specimens import Specimens, registering
from torch import nn

from zoo.components.attention.split import Split
from zoo.components.tokens import Tokens

broken = Specimens("attention", "rotate", "bias", "padding", "causal", "cross", "cache", "map")
zoo_register = registering(broken)


@broken.caught_by("in-a-model", "logits of few rows against those of all:")
class ContextIgnored(Split):
    def forward(self, x, layer):
        return super().forward(x, replace(layer, context=None, context_tokens=None))


@broken.caught_by("cache-padding", "prompts padded on the left, step by step: text")
class RowsAtTheStart(Split):
    """Takes every query for the first ones, whatever their positions say."""

    def forward(self, x, layer):
        first = Tokens(layer.tokens.attention_mask, torch.arange(x.shape[1]))
        return super().forward(x, replace(layer, tokens=first))


@broken.caught_by("cache-padding", "the cache that it is given is never used")
class CacheIgnored(Split):
    def forward(self, x, layer):
        return super().forward(x, replace(layer, cache=None))


@broken.caught_by("attention-map", "a hidden key has a weight")
class MapWithoutMask(Split):
    def weights(self, x, layer):
        return super().weights(x, replace(layer, causal=False))


@broken.caught_by("attention-map", "map: .* off by", also=("exact",))
class MapOfOneHead(Split):
    def weights(self, x, layer):
        return super().weights(x, layer).mean(1, keepdim=True).expand(-1, 2, -1, -1)


@broken.caught_by("heads", "declares 'one-head'")
class SecretlyOneHead(Split):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, 1, dropout=dropout)


@broken.caught_by("length", "without a ValueError", also=("fixed-length",))
class LongerThanItSays(Split):
    def __init__(self, dim, heads, *, dropout=0.0, max_length):
        super().__init__(dim, heads, dropout=dropout)


@broken.caught_by("length", "too long")
class ShorterThanItSays(Split):
    def forward(self, x, layer):
        if x.shape[1] > 512:
            raise ValueError("too long")
        return super().forward(x, layer)


@broken.caught_by("shape-and-dtype", "float64 comes out as torch.float32")
class AlwaysSingle(Split):
    def forward(self, x, layer):
        return super().forward(x, layer).float()


@broken.caught_by("shape-and-dtype", "shape \\(3, 6, 2, 8\\)")
class HeadsLeftApart(Split):
    def forward(self, x, layer):
        return super().forward(x, layer).unflatten(-1, (self.heads, -1))


@broken.caught_by("precision", "float(16|32) is off by")
class CancelsDigits(Split):
    def forward(self, x, layer):
        return (super().forward(x, layer) + 300.0) - 300.0


@broken.caught_by("no-state", "entries differ")
class RemembersTheLastCall(Split):
    last = 0.0

    def attend(self, q, k, v, mask, bias):
        out = super().attend(q, k, v, mask, bias)
        out, self.last = out + 0.1 * self.last, float(out.detach().mean())
        return out


@broken.caught_by("no-state", "input 0 after the call")
class CentresInPlace(Split):
    def forward(self, x, layer):
        with torch.no_grad():
            x -= x.mean(dim=-1, keepdim=True)
        return super().forward(x, layer)


@broken.caught_by("no-state", "padded: mask or positions 1 after the call")
class FlipsPaddingInPlace(Split):
    def forward(self, x, layer):
        out = super().forward(x, layer)
        if layer.tokens.attention_mask is not None:
            layer.tokens.attention_mask.logical_not_()
        return out


@broken.caught_by("state-dict", "after loading")
class BufferNotSaved(Split):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        self.register_buffer("features", torch.randn(dim), persistent=False)

    def forward(self, x, layer):
        return super().forward(x, layer) * self.features


@broken.caught_by("seeds", r"out\.bias of the second one built from the seed:")
class CountsItsInstances(Split):
    number = itertools.count()

    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        nn.init.constant_(self.out.bias, next(self.number))


@broken.caught_by("same-everywhere", "differ in 'features'")
class FeaturesByHash(Split):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        draw = torch.Generator().manual_seed(hash("features") % 1000)
        self.register_buffer("features", torch.randn(dim, generator=draw))

    def forward(self, x, layer):
        return super().forward(x, layer) * self.features


@broken.caught_by("compiled", "padded, compiled: output")
class OtherwiseWhenCompiled(Split):
    def attend(self, q, k, v, mask, bias):
        return v if torch.compiler.is_compiling() else super().attend(q, k, v, mask, bias)


@broken.caught_by("assembles", "RuntimeError")
class TrainsOnOddBatchesAlone(Split):
    def forward(self, x, layer):
        if self.training and x.shape[0] % 2 == 0:
            raise RuntimeError("an even batch")
        return super().forward(x, layer)


@broken.caught_by("contract", "gives a .*PlainModule, no zoo.components.attention.base.Attention")
class PlainModule(nn.Module):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads


@broken.caught_by("parameters", "default is 8", parameters={"size": 4})
class AnotherDefault(Split):
    def __init__(self, dim, heads, *, dropout=0.0, size=8):
        super().__init__(dim, heads, dropout=dropout)


@broken.caught_by("parameters", "'size', which is not registered", parameters={})
class UnregisteredParameter(Split):
    def __init__(self, dim, heads, *, dropout=0.0, size=8):
        super().__init__(dim, heads, dropout=dropout)


@broken.caught_by("parameters", "does not take it", parameters={"size": 4})
class NoSuchParameter(Split):
    pass


@broken.caught_by("defaults", "defaults given", parameters={"factor": 2.0})
class AnotherHiddenDefault(Split):
    def __init__(self, dim, heads, *, dropout=0.0, **more):
        super().__init__(dim, heads, dropout=dropout)
        self.factor = more.get("factor", 3.0)

    def attend(self, q, k, v, mask, bias):
        return super().attend(q, k, v, mask, bias) * self.factor


@broken.caught_by("cache-padding", "prompts padded on the left, step by step: text")
class PaddingByCount(Split):
    def mask_and_bias(self, q, k, layer):
        mask = layer.keys.attention_mask
        if mask is not None:
            real = torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)
            layer = replace(layer, context_tokens=Tokens(real, layer.keys.positions))
        return super().mask_and_bias(q, k, layer)


@broken.caught_by("positions", "three times apart", only=("rotate", "bias", "padding"))
class PositionsByRow(Split):
    def forward(self, x, layer):
        if layer.context is not None or layer.causal or layer.cache is not None:
            raise ValueError("it attends to the whole text itself, and that alone")
        rows = Tokens(layer.tokens.attention_mask, torch.arange(x.shape[1]))
        return super().forward(x, replace(layer, tokens=rows))


@broken.caught_by("positions", "text 1 at positions of its own")
class PositionsOfTheFirstText(Split):
    def rotate(self, q, k, layer):
        tokens = layer.tokens
        if tokens.positions.dim() == 2:
            layer = replace(layer, tokens=Tokens(tokens.attention_mask, tokens.positions[0]))
        return super().rotate(q, k, layer)


@broken.caught_by("assembles", "shape|size")
class WiredToItsHeads(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q.reshape(*q.shape[:-1], 8), k, v, mask, bias)
