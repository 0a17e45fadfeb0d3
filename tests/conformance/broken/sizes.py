"""Components that are right at the usual sizes, lengths and scores, and wrong at others."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from specimens import Specimens, registering
from torch import nn

from zoo.components.attention.split import Split
from zoo.components.ffn.gelu import GELU
from zoo.components.norm.layer import LayerNorm
from zoo.components.pe.alibi import Alibi
from zoo.components.pe.rope import Rotary
from zoo.components.pool.mean import Mean
from zoo.components.tokens import Tokens

SOFT = ("rotate", "bias", "padding", "causal", "cross", "cache")
attentions = Specimens("attention", *SOFT)
exact = Specimens("attention", *SOFT, "exact", "map")
rotary = Specimens("pe", "rotate", "order")
biased = Specimens("pe", "bias", "order")
ffns = Specimens("ffn")
norms = Specimens("norm", "scale-invariant")
pools = Specimens("pool")
zoo_register = registering(attentions, exact, rotary, biased, ffns, norms, pools)


@attentions.caught_by("sizes", "3 heads, .*: text 0 alone")
class HeadsTakenForTexts(Split):
    """A gain for each head that is meant to be broadcast, and falls on texts where it can."""

    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        self.gain = nn.Parameter(1 + torch.arange(float(heads)))

    def attend(self, q, k, v, mask, bias):
        gain = self.gain[:, None, None]
        if len(q) == len(self.gain):
            gain = gain[:, None]
        return super().attend(q, k, v, mask, bias) * gain


@attentions.caught_by("sizes", "shape|size|RuntimeError")
class WidthOfTheFirstSizes(Split):
    """Takes heads of twelve numbers for two heads of six, as if no model had them."""

    def attend(self, q, k, v, mask, bias):
        out = super().attend(q, k, v, mask, bias)
        return out.unflatten(-1, (6, 2)).sum(-1) if q.shape[-1] == 12 and q.shape[1] == 1 else out


@exact.caught_by("exact", "plain, width")
class BlocksNotRescaled(Split):
    """Adds blocks of 128 keys, each with the largest score of its own subtracted."""

    def attend(self, q, k, v, mask, bias):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores if bias is None else scores + bias
        scores = scores if mask is None else scores.masked_fill(~mask, -1e30)
        top, below = 0.0, 0.0
        for start in range(0, k.shape[-2], 128):
            part = scores[..., start : start + 128]
            powers = (part - part.amax(-1, keepdim=True)).exp()
            powers = F.dropout(powers, self.dropout, self.training)
            top, below = top + powers @ v[..., start : start + 128, :], below + powers.sum(-1)
        return top / below[..., None].clamp_min(1e-30)


@ffns.caught_by("hidden", "use `hidden`")
class HiddenIgnored(GELU):
    def __init__(self, dim, hidden, dropout=0.0):
        super().__init__(dim, 40, dropout)


@ffns.caught_by("padding-invariance", "300 tokens, padding on the left: text 1 against unpadded")
class FirstHundredTokens(GELU):
    def forward(self, x, layer):
        out = super().forward(x, layer)
        if x.dim() < 2:
            return out
        return torch.cat([out[..., :100, :], 0 * out[..., 100:, :]], dim=-2)


@norms.caught_by(
    "padding-invariance", "300 tokens, padding on the right: text 1 against unpadded \\(a norm"
)
class ScaledByPosition(LayerNorm):
    def __init__(self, dim):
        super().__init__(dim)

    def forward(self, x):
        out = super().forward(x)
        return out if x.dim() < 2 or x.shape[-2] < 128 else out * (128 / x.shape[-2])


@pools.caught_by("padding-invariance", "300 tokens, padding on the right: text 1 against unpadded")
class MaskOf128(Mean):
    def forward(self, x, attention_mask):
        if attention_mask is not None and attention_mask.shape[1] > 128:
            attention_mask = F.pad(attention_mask[:, :128], (0, x.shape[1] - 128), value=True)
        return super().forward(x, attention_mask)


@biased.caught_by("positions", "bias at positions \\[0, 63, 64, 127, 128, 255, 256, 299\\] of 300")
class BiasByBlocks(Alibi):
    """Beyond 128 tokens, all of a block of 128 keys have one bias."""

    def bias(self, q_positions, k_positions):
        if k_positions.shape[-1] > 128:
            k_positions = k_positions // 128 * 128
        return super().bias(q_positions, k_positions)


@attentions.caught_by("large-inputs", "are not finite")
class ExpWithoutMaximum(Split):
    def attend(self, q, k, v, mask, bias):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores if bias is None else scores + bias
        powers = scores.exp() if mask is None else scores.exp() * mask
        weights = powers / powers.sum(-1, keepdim=True).clamp_min(1e-20)
        return F.dropout(weights, self.dropout, self.training) @ v


@attentions.caught_by("in-bfloat16", "under autocast: rows up to 259")
class PositionsInHalf(Split):
    """Compares positions in the type of the queries: above 256 some are rounded to one number."""

    def mix(self, q, k, v, layer):
        mask, bias = self.mask_and_bias(q, k, replace(layer, causal=False))
        if layer.causal:
            queries, keys = (x.positions.to(q.dtype) for x in (layer.tokens, layer.keys))
            later = keys[..., None, :] - queries[..., None]
            past = later <= 0
            past = past[:, None] if past.dim() == 3 else past
            mask = past if mask is None else mask & past
            mask = mask | ~mask.any(-1, keepdim=True)
        return self.attend(q, k, v, mask, bias)


@attentions.caught_by("positions", "output 1021 positions later|output 509 positions later")
class PositionsBeginAgain(Split):
    def rotate(self, q, k, layer):
        tokens, keys = (Tokens(None, x.positions % 512) for x in (layer.tokens, layer.keys))
        return super().rotate(q, k, replace(layer, tokens=tokens, context_tokens=keys))


@rotary.caught_by("far-positions", "scores of queries 7 tokens from their keys")
class RotationBeginsAgain(Rotary):
    def rotate(self, x, positions):
        return super().rotate(x, positions % 2048)


@biased.caught_by("far-positions", "bias of keys 7 tokens from their queries")
class DistancesInHalf(Alibi):
    def bias(self, q_positions, k_positions):
        q, k = (positions.bfloat16().long() for positions in (q_positions, k_positions))
        return super().bias(torch.where(q_positions > 1000, q, q_positions), k_positions * 0 + k)
