"""What the mutations are made of: parts of the zoo, and a few small ones that go wrong easily."""

# ruff: noqa: F401
from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from sound import Bag, FollowingTag
from torch import Tensor, nn

from zoo.components.attention.split import Split
from zoo.components.baseline.ngram import NeighbourNGram, NGram
from zoo.components.baseline.taggers import FrequentTag
from zoo.components.baseline.tfidf_logreg import TfidfLogisticRegression
from zoo.components.block.arrangements import Bare, Post, Pre
from zoo.components.ffn.swiglu import SwiGLU
from zoo.components.ffn.two_layer import GELU
from zoo.components.norm.layer import LayerNorm, StdLayerNorm
from zoo.components.norm.rms import RMSNorm
from zoo.components.pe.alibi import Alibi
from zoo.components.pe.base import NO_POSITIONS, PositionalEncoding
from zoo.components.pe.learned import Learned
from zoo.components.pe.rope import Rotary
from zoo.components.pe.sin import Sinusoidal
from zoo.components.pool.base import Pool
from zoo.components.pool.pools import Cls, Mean
from zoo.components.tokens import Tokens, past_tokens
from zoo.conformance.baselines import TEXTS
from zoo.models.key_value_cache import KeyValues

SEEN: dict[int, Tensor] = {}
SHARED: dict[tuple, Tensor] = {}


def scores(q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
    found = q @ k.mT / math.sqrt(q.shape[-1])
    return found if bias is None else found + bias


class Distance(Alibi):
    def scores(self, offset):
        return -self.slopes[:, None, None] * offset[..., None, :, :]


class Shift(GELU):
    """Adds the token before to each token; right, but for what subclasses get wrong."""

    def forward(self, x, layer):
        before = past_tokens(x, self.tokens(layer), 1, self.kept(layer))[:, :, 0]
        return super().forward(x + before, layer)

    def tokens(self, layer):
        return layer.tokens

    def kept(self, layer):
        return layer.state(self)


class Halved(torch.autograd.Function):
    """The same; its backward pass is right but for what it does to what comes in."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        once = grad.clone()
        grad.mul_(0.5)
        return once


class Fitted(TfidfLogisticRegression):
    def __init__(self) -> None:
        super().__init__()
