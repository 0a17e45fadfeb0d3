"""Feed-forward networks that are wrong in one way each."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from specimens import Specimens, registering

from zoo.components.ffn.gelu import GELU
from zoo.components.ffn.swiglu import SwiGLU
from zoo.components.tokens import Tokens, past_tokens

broken = Specimens("ffn")
zoo_register = registering(broken)


@broken.caught_by("parameter-count", "1920 parameters", also=("gated",))
class GatedAtFullWidth(SwiGLU):
    def __init__(self, dim, hidden, dropout=0.0):
        super().__init__(dim, hidden, dropout, matched=False)


@broken.caught_by(
    "padding-invariance",
    "text 1 against unpadded \\(one that reads other tokens declares 'neighbours'\\)",
)
class LooksAtItsNeighbour(GELU):
    def forward(self, x, layer):
        return super().forward(x + x.roll(1, dims=-2) if x.dim() > 1 else x, layer)


@broken.caught_by("dropout", "evaluation with dropout set")
class DropoutInEvaluation(GELU):
    def forward(self, x, layer):
        return F.dropout(super().forward(x, layer), self.dropout)


@broken.caught_by("training", "plain, in training without dropout: output")
class DropoutOfItsOwn(GELU):
    def forward(self, x, layer):
        return F.dropout(super().forward(x, layer), 0.1, self.training)


@broken.caught_by("contract", "gives a builtins.(builtin_)?function")
def not_a_module(dim, hidden, dropout=0.0):
    return F.gelu


class Shift(GELU):
    """Adds the token before to each token; right, but for what subclasses get wrong."""

    def forward(self, x, layer):
        before = past_tokens(x, self.tokens(layer), 1, self.kept(layer))[:, :, 0]
        return super().forward(x + before, layer)

    def tokens(self, layer):
        return layer.tokens

    def kept(self, layer):
        return layer.state(self)


@broken.caught_by("padding-invariance", "against unpadded", also=("neighbours",))
class ShiftsPadding(Shift):
    def tokens(self, layer):
        return Tokens(None, layer.tokens.positions)


@broken.caught_by(
    "causality", "length 6, rows up to 0 after changing the future", also=("neighbours", "causal")
)
class ShiftsTheOtherWay(Shift):
    def forward(self, x, layer):
        return super().forward(x.flip(1), layer).flip(1)


@broken.caught_by(
    "caches-apart", "decoding 1 of two in turns, to", also=("neighbours", "causal", "cache")
)
class ShiftForgotten(Shift):
    def kept(self, layer):
        return {}


@broken.caught_by("dropout-scale", "training gives 0.(7|8[01])")
class DropoutNotMadeUpFor(GELU):
    def forward(self, x, layer):
        inner = self.activation(self.inner(x))
        if self.training:
            inner = inner * (torch.rand_like(inner) >= self.dropout)
        return self.outer(inner)
