"""Components that are wrong only in later layers, or in a gradient."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from specimens import Specimens, registering
from torch import nn

from zoo.components.attention.split import Split
from zoo.components.block.pre import Pre
from zoo.components.ffn.gelu import GELU
from zoo.components.pe.rope import Rotary
from zoo.components.pe.sin import Sinusoidal
from zoo.components.pool.base import Pool

attentions = Specimens("attention", "rotate", "bias", "padding", "causal", "cross", "cache", "map")
encodings = Specimens("pe", "embed", "order", "random")
ffns = Specimens("ffn")
blocks = Specimens("block", "residual", "cross")
norms = Specimens("norm")
pools = Specimens("pool")
zoo_register = registering(attentions, encodings, ffns, blocks, norms, pools)


@attentions.caught_by("encoding-learns", "by 'bias': a slope of 0")
class BiasWithoutGradient(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q, k, v, mask, None if bias is None else bias.detach())


@attentions.caught_by("attention-map", "what the value adds")
class MapOfOtherScores(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(F.normalize(q, dim=-1), k, v, mask, bias)


@attentions.caught_by("in-a-model", "text 0 of 9 tokens alone")
class ValuesOfAnotherText(Split):
    def adjust(self, q, k, v, layer):
        before = layer.shared.setdefault("another text's", v)
        return q, k, v if before is v else v + before.roll(1, dims=0)


@attentions.caught_by("in-a-model", "among 129 and by themselves")
class MeanOfLargeBatches(Split):
    def adjust(self, q, k, v, layer):
        return q, k, v + 0.01 * v.mean(0) if len(v) > 32 else v


@attentions.caught_by("in-a-model", "few rows against those of all", without=("cache",))
class LastRowsOfTheLayerBefore(Split):
    def adjust(self, q, k, v, layer):
        before = layer.shared.setdefault("queries", q)
        return q if before is q else q + before[:, :, -q.shape[2] :], k, v


@attentions.caught_by("decoding-in-a-model", "logits of tokens")
class ScaledByNewTokens(Split):
    def adjust(self, q, k, v, layer):
        return q, k, v * q.shape[2] if layer.index else v


@attentions.caught_by("assembles", "raised RuntimeError")
class LerpInOneDtype(Split):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        self.share = nn.Parameter(torch.tensor([0.5]))

    def adjust(self, q, k, v, layer):
        first = layer.shared.setdefault("first values", v)
        return q, k, v if first is v else torch.lerp(v, first, self.share)


@attentions.caught_by(
    "padding-invariance",
    "6 tokens, padding on the right: text 1 against unpadded",
    without=("map",),
)
class MaskBeforeMixing(Split):
    """Hidden scores are finite, and are then mixed by weights that may be negative."""

    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        self.mixing = nn.Parameter(torch.eye(heads))

    def attend(self, q, k, v, mask, bias):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores if bias is None else scores + bias
        scores = scores if mask is None else scores.masked_fill(~mask, -1e6)
        return torch.einsum("gh,bhij->bgij", self.mixing, scores).softmax(-1) @ v


@norms.caught_by("large-mean", "numbers near 1000")
class VarianceInOnePass(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.square().mean(-1, keepdim=True) - mean.square()
        return (x - mean) * (variance.clamp_min(0) + 1e-5).rsqrt()


@attentions.caught_by("in-bfloat16", "off by", only=("padding", "cross"))
class DistancesInBfloat16(Split):
    def mask_and_bias(self, q, k, layer):
        mask, _ = super().mask_and_bias(q, k, layer)
        here, there = layer.tokens.positions.to(q.dtype), layer.keys.positions.to(q.dtype)
        far = (here[..., :, None] - there[..., None, :]).abs()
        return mask, -3 * (far[:, None] if far.dim() == 3 else far)


@encodings.caught_by("place", "positions do not increase")
class DrawnUnsorted(Sinusoidal):
    def place(self, positions):
        if not self.training:
            return positions
        return torch.randperm(4 * positions.shape[-1])[: positions.shape[-1]].expand_as(positions)


@encodings.caught_by("head-width", "size of tensor", only=("rotate", "order"))
class WidthOfTheModel(Rotary):
    def __init__(self, *, dim, heads, head_dim, max_length):
        super().__init__(dim=dim, heads=heads, head_dim=dim // heads, max_length=max_length)


@ffns.caught_by("memory-layout", "view")
class Viewed(GELU):
    def forward(self, x, layer):
        return super().forward(x.view(-1, x.shape[-1]), layer).view(x.shape)


@ffns.caught_by("gradcheck", "plain, in training: a slope of")
class DropoutDrawnAgain(GELU):
    """The backward pass has another dropout than the forward pass."""

    def forward(self, x, layer):
        one, other = super().forward(x, layer), super().forward(x, layer)
        return other + (one - other).detach()


@ffns.caught_by("matrices-learn", "multiples of each other")
class SignsOfWeights(nn.Module):
    def __init__(self, dim, hidden, dropout=0.0):
        super().__init__()
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x, layer):
        weight = self.up.weight.sign().detach() * self.up.weight.abs().mean()
        return self.down(F.relu(F.linear(x, weight, self.up.bias)))


@blocks.caught_by("sizes", "a feed-forward network is given")
class NetworkBeforeOfFewRows(Pre):
    def forward(self, x, layer):
        return super().forward(x + self.feed_forward(x, layer), layer)


@pools.caught_by("padding-invariance", "6 tokens, padding on the left: text 1 against unpadded")
class LastByCount(Pool):
    def forward(self, x, attention_mask):
        if attention_mask is None:
            return x[:, -1]
        last = attention_mask.sum(1).sub(1).clamp_min(0)
        out = x[torch.arange(len(x)), last]
        return out.masked_fill(~attention_mask.any(1)[:, None], 0)


@attentions.caught_by("learns", "no gradient reaches gain", without=("map",))
class GainOfTwoZeros(Split):
    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__(dim, heads, dropout=dropout)
        self.gain = nn.Parameter(torch.zeros(2, heads, 1, 1))

    def attend(self, q, k, v, mask, bias):
        return (1 + self.gain.prod(dim=0)) * super().attend(q, k, v, mask, bias)


@attentions.caught_by(
    "padding-invariance",
    "149 tokens, padding on the right: text 1 against unpadded",
    without=("map",),
)
class ScaledByLongTexts(Split):
    def attend(self, q, k, v, mask, bias):
        return super().attend(q, k, v, mask, bias) * max(1.0, k.shape[2] / 100)


@attentions.caught_by("gradcheck", "causal, 140 tokens: a slope of", without=("cache", "map"))
class DetachedBeyondAChunk(Split):
    def attend(self, q, k, v, mask, bias):
        v = torch.cat([v[:, :, :32], v[:, :, 32:].detach()], dim=2)
        return super().attend(q, k, v, mask, bias)


@blocks.caught_by("norms-output-untouched", "entries differ")
class ScalesWhatTheNormGives(Pre):
    def arrange(self, x, sublayer, norm, rows):
        return x[:, rows] + self.drop(sublayer(norm(x).mul_(0.5)))


@norms.caught_by("parameters-act", "the parameter does nothing")
class ForgetsItsEpsilon(nn.LayerNorm):
    def __init__(self, dim, *, eps=1e-5):
        super().__init__(dim)


@blocks.caught_by("memory", "evaluation with dropout set")
class DropsTheMemoryInEvaluation(Pre):
    def cross_attend(self, h, layer):
        return F.dropout(super().cross_attend(h, layer), self.dropout)
