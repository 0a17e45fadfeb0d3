"""Attentions that take one of query and context for the other, and caches that are mixed up."""

from __future__ import annotations

from dataclasses import replace

import torch
from specimens import Specimens, registering

from zoo.components.attention.split import Split
from zoo.components.ffn.gelu import GELU
from zoo.components.tokens import Tokens, past_tokens
from zoo.models.key_value_cache import KeyValues

broken = Specimens("attention", "rotate", "bias", "padding", "causal", "cross", "cache")
ffns = Specimens("ffn", "neighbours", "causal", "cache")
zoo_register = registering(broken, ffns)


@broken.caught_by("both-padded", "context of 6 for 6 queries: padded against unpadded")
class PaddingOfTheQueries(Split):
    """Takes the queries' mask for the keys' where there is one of that length."""

    def forward(self, x, layer):
        mask = layer.tokens.attention_mask
        crosses = layer.context is not None and layer.cache is None and mask is not None
        if crosses and mask.shape[1] == layer.context.shape[1]:
            layer = replace(layer, context_tokens=Tokens(mask, layer.keys.positions))
        return super().forward(x, layer)


@broken.caught_by("both-padded", "padded against unpadded")
class PaddingOfBoth(Split):
    """Hides keys where the query at the same place is padding."""

    def mix(self, q, k, v, layer):
        masks = layer.tokens.attention_mask, layer.keys.attention_mask
        if all(mask is not None for mask in masks) and masks[0].shape == masks[1].shape:
            both = Tokens(masks[0] & masks[1], layer.keys.positions)
            layer = replace(layer, context_tokens=both)
        return super().mix(q, k, v, layer)


@broken.caught_by("cache-padding", "prompts padded on the right")
class CacheWithoutItsPadding(Split):
    """Counts what is cached as real unless the first token is padding."""

    def mix(self, q, k, v, layer):
        mask = layer.keys.attention_mask
        if layer.causal and mask is not None and k.shape[-2] > q.shape[-2]:
            left = Tokens(mask.cumsum(dim=1) > 0, layer.keys.positions)
            layer = replace(layer, context_tokens=left)
        return super().mix(q, k, v, layer)


@broken.caught_by("cache-padding", "step by step: text 0")
class OneTokenPerStep(Split):
    """Needs no mask for what follows the prompt, as long as it is one token."""

    def mix(self, q, k, v, layer):
        after_prompt = k.shape[-2] > q.shape[-2]
        return super().mix(q, k, v, replace(layer, causal=layer.causal and not after_prompt))


@broken.caught_by("caches-apart", "RuntimeError: Sizes of tensors|of two in turns")
class CacheOfItsOwn(Split):
    """Keeps the cached keys in the module, and begins anew where a cache is empty."""

    own = None

    def forward(self, x, layer):
        if layer.cache is not None and layer.context is None:
            if not layer.cache.used:
                self.own = KeyValues()
            layer.cache.state(self)["begun"] = torch.zeros(len(x))
            layer = replace(layer, cache=self.own)
        return super().forward(x, layer)


@broken.caught_by("caches-apart", "after the texts were reordered")
class StateInOneTensor(Split):
    """Adds the mean of the cached tokens, kept where a beam cannot reorder it."""

    def forward(self, x, layer):
        out, cache = super().forward(x, layer), layer.cache
        if not layer.causal:
            return out
        if cache is None:
            return out + x.cumsum(dim=1)
        sums = x.cumsum(dim=1) + getattr(cache, "sums", 0)
        cache.sums = sums[:, -1:]
        return out + sums


@broken.caught_by("cross-cache", "step 2 against a call without a cache")
class ContextAddedAgain(Split):
    """Projects the context at every step, and so has none at the second."""

    def forward(self, x, layer):
        if layer.context is not None and layer.cache is not None:
            if not layer.context.shape[1]:
                layer = replace(layer, context=x, context_tokens=layer.tokens)
            layer = replace(layer, cache=None)
        return super().forward(x, layer)


@ffns.caught_by("caches-apart", "decoding 2 of two in turns|decoding 1 of two|RuntimeError")
class ShiftKeptInTheModule(GELU):
    def __init__(self, dim, hidden, dropout=0.0):
        super().__init__(dim, hidden, dropout)
        self.kept = {}

    def forward(self, x, layer):
        state = layer.state(self)
        if not state:
            self.kept = {}
        before = past_tokens(x, layer.tokens, 1, self.kept)[:, :, 0]
        state["begun"] = torch.zeros(len(x))
        return super().forward(x + before, layer)
