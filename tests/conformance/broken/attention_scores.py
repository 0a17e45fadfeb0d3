"""Attentions with a wrong scoring rule: masks, scales, axes, encodings."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from specimens import Specimens, registering
from torch import Tensor

from zoo.components.attention.split import Split
from zoo.components.tokens import Tokens

broken = Specimens(
    "attention", "rotate", "bias", "padding", "causal", "cross", "cache", "exact", "map"
)
zoo_register = registering(broken)


def scores(q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
    found = q @ k.mT / math.sqrt(q.shape[-1])
    return found if bias is None else found + bias


@broken.caught_by(
    "padding-invariance", "text 1 against unpadded: .*; likely cause: the mask is ignored$"
)
class MaskIgnored(Split):
    def attend(self, q, k, v, mask, bias):
        return scores(q, k, bias).softmax(-1) @ v


@broken.caught_by("exact", "output: .* off by .*; likely cause: softmax is over the queries")
class WrongAxis(Split):
    def attend(self, q, k, v, mask, bias):
        found = scores(q, k, bias)
        found = found if mask is None else found.masked_fill(~mask, -1e9)
        return found.softmax(-2) @ v


@broken.caught_by("exact", "plain, .*: output: .* off by")
class NoScale(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q * math.sqrt(self.head_dim), k, v, mask, bias)


@broken.caught_by("exact", "plain, .*: gradient of x")
class KeysDetached(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q, k.detach(), v, mask, bias)


@broken.caught_by("gradcheck", "plain: ")
class KeyWeightsFrozen(Split):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        self.project.k.weight.register_hook(torch.zeros_like)


@broken.caught_by("empty-documents", "not finite")
class NothingToSee(Split):
    """Hides from a query that may see nothing even that."""

    def mix(self, q, k, v, layer):
        mask, bias = self.mask_and_bias(q, k, layer)
        if layer.keys.attention_mask is not None:
            mask = mask & layer.keys.attention_mask[:, None, None, :]
        return self.attend(q, k, v, mask, bias)


@broken.caught_by("causality", "after changing the future")
class LeaksOneStep(Split):
    def mix(self, q, k, v, layer):
        mask, bias = self.mask_and_bias(q, k, replace(layer, causal=False))
        if layer.causal:
            queries, keys = layer.tokens.positions, layer.keys.positions
            near = keys[..., None, :] <= queries[..., :, None] + 1
            mask = near if mask is None else mask & near
        return self.attend(q, k, v, mask, bias)


@broken.caught_by("rotation", "positions later")
class RotatesValues(Split):
    def mix(self, q, k, v, layer):
        v = layer.position.rotate(v, layer.keys.positions)
        return super().mix(q, k, v, layer)


@broken.caught_by("rotation", "rotate_keys differs")
class KeysRotatedAsQueries(Split):
    def rotate(self, q, k, layer):
        return super().rotate(q, k, layer)[0], layer.position.rotate(k, layer.keys.positions)


@broken.caught_by("content-bias", "other values in padding", also=("content-bias",))
class ContentWithoutMask(Split):
    def mask_and_bias(self, q, k, layer):
        mask, _ = super().mask_and_bias(q, k, layer)
        seeing = replace(layer, causal=False, context_tokens=Tokens(None, layer.keys.positions))
        return mask, super().mask_and_bias(q, k, seeing)[1]


@broken.caught_by("score-bias", "hides what is changed")
class BiasTransposed(Split):
    def attend(self, q, k, v, mask, bias):
        square = bias is not None and bias.shape[-1] == bias.shape[-2]
        return super().attend(q, k, v, mask, bias.mT if square else bias)


@broken.caught_by("exact", "bias, .*: output")
class BiasOfFirstHead(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q, k, v, mask, None if bias is None else bias[..., :1, :, :])


@broken.caught_by("permutation", "declare 'order'")
class PrefersEarlyKeys(Split):
    def attend(self, q, k, v, mask, bias):
        early = -0.01 * torch.arange(k.shape[-2], dtype=q.dtype)
        return super().attend(q, k, v, mask, early if bias is None else bias + early)


@broken.caught_by("permutation", "yet is equivariant", also=("order",))
class OrderInNameAlone(Split):
    pass


@broken.caught_by("dropout", "same output twice")
class DropoutForgotten(Split):
    def attend(self, q, k, v, mask, bias):
        self.dropout = 0.0
        return super().attend(q, k, v, mask, bias)


@broken.caught_by("exact", "plain, .*: output")
class ScaleByHeads(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q * math.sqrt(q.shape[-1]) / q.shape[1], k, v, mask, bias)


@broken.caught_by(
    "padding-invariance",
    "523 tokens, padding on the right: text 1 against unpadded",
    without=("exact", "map"),
)
class MaskForgottenInLongTexts(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q, k, v, mask if k.shape[-2] <= 256 else None, bias)


@broken.caught_by("dropout-scale", "training gives 0.(7|80)")
class DropoutNotMadeUpFor(Split):
    def attend(self, q, k, v, mask, bias):
        weights = scores(q, k, bias)
        if mask is not None:
            weights = weights.masked_fill(~mask, -torch.inf)
        weights = weights.softmax(-1)
        if self.training:
            weights = weights * (torch.rand_like(weights) >= self.dropout)
        return weights @ v
