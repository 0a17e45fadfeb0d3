"""Attentions that take one of query and context for the other, and caches that are mixed up."""

from __future__ import annotations

import torch
from specimens import Specimens

from zoo import hookimpl
from zoo.components.attention.split import Split
from zoo.components.ffn.gelu import GELU
from zoo.components.past_tokens import past_tokens
from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import KeyValues
from zoo.registry import Register

broken = Specimens("attention", "rotate", "bias", "padding", "causal", "cross", "cache")
ffns = Specimens("ffn", "neighbours", "causal", "cache")


@hookimpl
def zoo_register(register: Register) -> None:
    broken.register(register)
    ffns.register(register)


@broken.caught_by("both-padded", "context of 6 for 6 queries: padded against unpadded")
class PaddingOfTheQueries(Split):
    """Takes the queries' mask for the keys' where there is one of that length."""

    def forward(self, x, context=None, *, tokens, context_tokens=None, cache=None, **how):
        mask = tokens.attention_mask
        if context is not None and cache is None and mask is not None:
            same = mask.shape[1] == context.shape[1]
            context_tokens = Tokens(mask, context_tokens.positions) if same else context_tokens
        return super().forward(
            x, context, tokens=tokens, context_tokens=context_tokens, cache=cache, **how
        )


@broken.caught_by("both-padded", "padded against unpadded")
class PaddingOfBoth(Split):
    """Hides keys where the query at the same place is padding."""

    def mix(self, q, k, v, queries, keys, position, causal):
        masks = queries.attention_mask, keys.attention_mask
        if all(mask is not None for mask in masks) and masks[0].shape == masks[1].shape:
            keys = Tokens(masks[0] & masks[1], keys.positions)
        return super().mix(q, k, v, queries, keys, position, causal)


@broken.caught_by("both-positions", "a context in the opposite order|queries in the opposite")
class PositionsOfTheQueries(Split):
    def rotate_keys(self, x, tokens, position):
        start = tokens.positions[..., :1]
        inner = torch.arange(tokens.positions.shape[-1], device=x.device)
        return super().rotate_keys(x, Tokens(None, start + inner), position)


@broken.caught_by("cache-padding", "prompts padded on the right")
class CacheWithoutItsPadding(Split):
    """Counts what is cached as real unless the first token is padding."""

    def mix(self, q, k, v, queries, keys, position, causal):
        mask = keys.attention_mask
        if causal and mask is not None and k.shape[-2] > q.shape[-2]:
            left = mask.cumsum(dim=1) > 0
            keys = Tokens(left, keys.positions)
        return super().mix(q, k, v, queries, keys, position, causal)


@broken.caught_by("cache-padding", "prompts padded on the (left|right), step by step: text 1")
class PositionsOfTheFirstTextInSteps(Split):
    def forward(self, x, context=None, *, tokens, cache=None, **how):
        if cache is not None and tokens.positions.dim() == 2:
            tokens = Tokens(tokens.attention_mask, tokens.positions[0])
        return super().forward(x, context, tokens=tokens, cache=cache, **how)


@broken.caught_by("cache-padding", "step by step: text 0")
class OneTokenPerStep(Split):
    """Needs no mask for what follows the prompt, as long as it is one token."""

    def mix(self, q, k, v, queries, keys, position, causal):
        after_prompt = k.shape[-2] > q.shape[-2]
        return super().mix(q, k, v, queries, keys, position, causal and not after_prompt)


@broken.caught_by("caches-apart", "RuntimeError: Sizes of tensors|of two in turns")
class CacheOfItsOwn(Split):
    """Keeps the cached keys in the module, and begins anew where a cache is empty."""

    own = None

    def forward(self, x, context=None, *, cache=None, **how):
        if cache is not None and context is None:
            if not cache.used:
                self.own = KeyValues()
            cache.state(self)["begun"] = torch.zeros(len(x))
            return super().forward(x, context, cache=self.own, **how)
        return super().forward(x, context, cache=cache, **how)


@broken.caught_by("caches-apart", "after the texts were reordered")
class StateInOneTensor(Split):
    """Adds the mean of the cached tokens, kept where a beam cannot reorder it."""

    def forward(self, x, context=None, *, cache=None, causal=False, **how):
        out = super().forward(x, context, cache=cache, causal=causal, **how)
        if not causal:
            return out
        if cache is None:
            return out + x.cumsum(dim=1)
        sums = x.cumsum(dim=1) + getattr(cache, "sums", 0)
        cache.sums = sums[:, -1:]
        return out + sums


@broken.caught_by("cross-cache", "step 2 against a call without a cache")
class ContextAddedAgain(Split):
    """Projects the context at every step, and so has none at the second."""

    def forward(self, x, context=None, *, context_tokens=None, cache=None, **how):
        if context is not None and context.shape[1] and cache is not None:
            cache = None
        elif context is not None and cache is not None:
            context, context_tokens, cache = x, how["tokens"], None
        return super().forward(x, context, context_tokens=context_tokens, cache=cache, **how)


@ffns.caught_by("caches-apart", "decoding 2 of two in turns|decoding 1 of two|RuntimeError")
class ShiftKeptInTheModule(GELU):
    def __init__(self, dim, hidden, dropout=0.0):
        super().__init__(dim, hidden, dropout)
        self.kept = {}

    def forward(self, x, layer):
        state = layer.state(self)
        if not state:
            self.kept = {}
        before = past_tokens(x, layer.out_tokens, 1, self.kept)[:, :, 0]
        state["begun"] = torch.zeros(len(x))
        return super().forward(x + before)
