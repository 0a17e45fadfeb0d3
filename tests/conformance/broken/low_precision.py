"""Components that are right in float32 and as modules in bfloat16, and wrong under autocast."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from specimens import Specimens, registering

from zoo.components.attention.split import Split
from zoo.components.ffn.gelu import GELU
from zoo.components.norm.rms import RMSNorm
from zoo.components.pe.rope import Rotary
from zoo.components.pool.mean import Mean

attentions = Specimens("attention", "rotate", "bias", "padding", "causal", "cross", "cache")
rotary = Specimens("pe", "rotate", "order")
ffns = Specimens("ffn")
norms = Specimens("norm", "scale-invariant")
pools = Specimens("pool")
zoo_register = registering(attentions, rotary, ffns, norms, pools)


@attentions.caught_by("autocast", "RuntimeError.*(without overflow|BFloat16)")
class LowestOfTheInput(Split):
    """Fills with the lowest number of the layer's type, which is not that of the scores."""

    def forward(self, x, layer):
        self.lowest = torch.finfo(x.dtype).min
        return super().forward(x, layer)

    def attend(self, q, k, v, mask, bias):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores if bias is None else scores + bias
        scores = scores if mask is None else scores.masked_fill(~mask, self.lowest)
        return F.dropout(scores.softmax(-1), self.dropout, self.training) @ v


@ffns.caught_by("autocast", "RuntimeError")
class TypesMustAgree(GELU):
    def forward(self, x, layer):
        inner = self.inner(x)
        if inner.dtype != x.dtype:
            raise RuntimeError("the inner layer has another type than the input")
        return self.outer(self.activation(inner))


@norms.caught_by("autocast", "output without autocast, after a call under it")
class RoundedByAutocast(RMSNorm):
    """Rounds its scale when it first runs under autocast, and keeps it so."""

    def __init__(self, dim):
        super().__init__(dim)

    def forward(self, x):
        if torch.is_autocast_enabled("cpu"):
            with torch.no_grad():
                self.scale.copy_(self.scale.bfloat16())
        return super().forward(x)


@pools.caught_by("autocast", "gradients are off by")
class NoGradientUnderAutocast(Mean):
    def forward(self, x, attention_mask):
        out = super().forward(x, attention_mask)
        return out.detach() + 0 * x.sum() if torch.is_autocast_enabled("cpu") else out


@rotary.caught_by("precision", "far positions: torch.bfloat16")
class AnglesInHalf(Rotary):
    """Computes the angles in the type of the queries."""

    def rotate(self, x, positions):
        angles = positions[..., None].to(x.dtype) * self.angles.frequencies.to(x.dtype)
        angles = angles[:, None] if angles.dim() == 3 else angles
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


@attentions.caught_by(
    "in-bfloat16", "tokens 900 to 1199 are off", only=("causal", "causal-only", "order")
)
class SumsInTheTypeOfTheValues(Split):
    def mix(self, q, k, v, layer):
        total = torch.zeros_like(v[:, :, 0])
        means = []
        for number, value in enumerate(v.abs().unbind(2), start=1):
            total = total + value
            means.append(total / number)
        return torch.stack(means, dim=2)
