"""Norms that are wrong in one way each."""

from __future__ import annotations

import torch
from specimens import Specimens, registering
from torch import nn

from zoo.components.norm.layer import LayerNorm
from zoo.components.norm.layer_std import StdLayerNorm
from zoo.components.norm.rms import RMSNorm

broken = Specimens("norm", "scale-invariant")
zoo_register = registering(broken)


@broken.caught_by("statistics", "variance over D - 1", also=("unbiased",))
class BiasedWhereUnbiased(LayerNorm):
    pass


@broken.caught_by("statistics", "variance over D: ", also=("unit-variance",))
class UnbiasedWhereBiased(StdLayerNorm):
    def __init__(self, dim):
        super().__init__(dim)


@broken.caught_by("statistics", "mean: ", also=("unit-variance",))
class MeanNotTakenOff(RMSNorm):
    def __init__(self, dim):
        super().__init__(dim)


@broken.caught_by("statistics", "mean square", also=("unit-rms",))
class SumForMean(RMSNorm):
    def forward(self, x):
        return x / x.square().sum(-1, keepdim=True).sqrt() * self.scale


@broken.caught_by("scale-invariance", "times the input")
class HugeEpsilon(LayerNorm):
    def __init__(self, dim):
        super().__init__(dim, eps=1.0)


@broken.caught_by("constant-input", "output: shape")
class TextsOnly(LayerNorm):
    """Gives a single vector (D) two dimensions."""

    def forward(self, x):
        return super().forward(torch.atleast_2d(x))


@broken.caught_by("constant-input", "not finite")
class NoEpsilon(LayerNorm):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / centred.square().mean(-1, keepdim=True).sqrt() * self.scale + self.shift


@broken.caught_by("precision", "float32 is off by")
class VarianceByDifference(nn.Module):
    """E[x²] - E[x]² of numbers far from zero has few digits left."""

    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        x = x + 1000
        variance = x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True).square()
        return (x - x.mean(-1, keepdim=True)) / variance.abs().sqrt()
