"""Components that are right in evaluation, and wrong in training or because of it."""

from __future__ import annotations

import itertools

import torch
from specimens import Specimens, registering
from torch import nn

from zoo.components.attention.split import Split
from zoo.components.block.pre import Pre
from zoo.components.ffn.gelu import GELU
from zoo.components.norm.rms import RMSNorm

attentions = Specimens("attention", "rotate", "bias", "padding", "causal", "cross", "cache")
ffns = Specimens("ffn")
norms = Specimens("norm", "scale-invariant")
blocks = Specimens("block", "residual", "cross")
zoo_register = registering(attentions, ffns, norms, blocks)


@attentions.caught_by(
    "training",
    "plain, in training without dropout: no gradient reaches project.k.bias, project.k.weight",
)
class KeysFrozenInTraining(Split):
    def adjust(self, q, k, v, layer):
        return q, k.detach() if self.training else k, v


@norms.caught_by(
    "no-state", "output in evaluation after a call in between \\(plain, in training\\)"
)
class WarmsUp(RMSNorm):
    """Counts training passes, and its scale depends on how many there were."""

    def __init__(self, dim):
        super().__init__(dim)
        self.passes = 0

    def forward(self, x):
        self.passes += self.training
        return super().forward(x) if self.training else super().forward(x) / (1 + self.passes)


@attentions.caught_by("no-state", "temperature after calls in between, in training")
class LearnsOutsideTheOptimizer(Split):
    """A running mean of the largest score, kept in a buffer that nothing reads."""

    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        self.register_buffer("temperature", torch.ones(()))

    def attend(self, q, k, v, mask, bias):
        if self.training:
            with torch.no_grad():
                self.temperature.mul_(0.9).add_(0.1 * (q @ k.mT).amax())
        return super().attend(q, k, v, mask, bias)


@attentions.caught_by("nothing-kept", "tensors of a call .* and with them its graph")
class KeepsItsWeights(Split):
    shown = None

    def attend(self, q, k, v, mask, bias):
        self.shown = (q @ k.mT).softmax(-1)
        return super().attend(q, k, v, mask, bias)


_SEEN = {}


@blocks.caught_by("nothing-kept", "are still there after it")
class KeepsInputsByNumber(Pre):
    numbers = itertools.count()

    def forward(self, x, layer):
        _SEEN[next(self.numbers)] = x.detach() + 0
        return super().forward(x, layer)


@ffns.caught_by("seeds", "in the same state with two seeds")
class SeedsTheGenerator(GELU):
    def __init__(self, dim, hidden, dropout=0.0):
        torch.manual_seed(0)
        super().__init__(dim, hidden, dropout)


@attentions.caught_by("seeds", "mixing are the same with two seeds")
class GeneratorOfItsOwn(Split):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        generator = torch.Generator().manual_seed(17)
        self.mixing = nn.Parameter(torch.randn(heads, heads, 4, generator=generator))

    def attend(self, q, k, v, mask, bias):
        return super().attend(q, k, v, mask, bias) * (1 + self.mixing.mean())
