"""Components unlike the built-ins, each right: no check may mistake them for broken ones."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import hookimpl
from zoo.components.attention.base import MultiHead
from zoo.components.attention.projections import Separate
from zoo.components.attention.split import Split
from zoo.components.block.base import Block, LayerContext, Sublayer
from zoo.components.block.pre import Pre
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pool.base import Pool
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.data.sources.corpus import Corpus, Pairs, TaggedCorpus, Texts
from zoo.registry import Register

SOFT = ("rotate", "bias", "padding", "causal", "cross", "cache")


@hookimpl
def zoo_register(register: Register) -> None:
    def add(
        kind: str, name: str, factory: object, *capabilities: str, **parameters: object
    ) -> None:
        assert callable(factory)
        register(
            kind, name, factory, summary="sound", capabilities=capabilities, parameters=parameters
        )

    add("attention", "sigmoid", Sigmoid, *SOFT)
    add("attention", "window", Window, *SOFT, "order", size=4)
    add("attention", "low-rank", LowRank, "padding", "order", "fixed-length", "eager", rank=5)
    add("pe", "directed", Directed, "bias", "order", "directed", "fixed-length")
    add("pe", "place", Place, "bias", "order", "absolute", "directed")
    add("norm", "squash", Squash, alpha=0.5)
    add("norm", "length", Length, "scale-invariant")
    add("ffn", "expert", Expert, gain=2.0)
    add("block", "zero", Zero, "residual", "cross")
    add("block", "own-network", OwnNetwork, "residual", "cross")
    add("block", "unnormed", Unnormed, "residual", "cross")
    add("attention", "powers-of-two", PowersOfTwo, *SOFT)
    add("pe", "plain-rotary", PlainRotary, "rotate", "order", base=1000.0)
    add("ffn", "noisy-gate", NoisyGate, "random")
    add("pool", "attentive", Attentive)
    add("pool", "greatest", Greatest)
    add("pool", "last", Last)
    add("baseline", "bag", Bag, "tokens")
    add("data", "tiny", tiny, "text-labels", repeats=4)
    add("data", "tagged", tagged, "token-labels")
    add("data", "copies", copies, "pairs")
    add("data", "book", book, "text")


class Sigmoid(MultiHead):
    """No softmax: each key has a weight of its own."""

    projection = Separate

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores if bias is None else scores + bias
        weights = scores.sigmoid() if mask is None else scores.sigmoid() * mask
        return F.dropout(weights, self.dropout, self.training) @ v


class Window(MultiHead):
    """Softmax over the keys at most ``size`` positions away."""

    projection = Separate

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, size: int = 4) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.size = size

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        mask, bias = self.mask_and_bias(q, k, layer)
        near = layer.tokens.positions[..., :, None] - layer.keys.positions[..., None, :]
        near = near.abs() <= self.size
        near = near[:, None] if near.dim() == 3 else near
        mask = near if mask is None else mask & near
        return self.attend(q, k, v, mask | ~mask.any(-1, keepdim=True), bias)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores if bias is None else scores + bias
        weights = (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)
        return F.dropout(weights, self.dropout, self.training) @ v


class LowRank(MultiHead):
    """Keys and values are mixed along the text into a few; built for one greatest length."""

    projection = Separate

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, max_length: int, rank: int = 5
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.mixing = nn.Parameter(torch.randn(rank, max_length) / math.sqrt(max_length))

    def forward(self, x, layer):
        if layer.context is not None or layer.causal or layer.cache is not None:
            raise ValueError("it takes no causal call, no context and no cache")
        if x.shape[1] > self.mixing.shape[1]:
            raise ValueError(f"built for {self.mixing.shape[1]} tokens, not {x.shape[1]}")
        return super().forward(x, layer)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        mixing = self.mixing[:, : k.shape[-2]]
        if mask is not None:
            k, v = k * mask.mT, v * mask.mT
        weights = (q @ (mixing @ k).mT / math.sqrt(q.shape[-1])).softmax(-1)
        return F.dropout(weights, self.dropout, self.training) @ (mixing @ v)


class Directed(PositionalEncoding):
    """A learned number per offset and head, other to the left than to the right."""

    def __init__(self, *, dim: int, heads: int, head_dim: int, max_length: int) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.table = nn.Parameter(torch.randn(heads, 2 * max_length - 1))
        self.max_length = max_length

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        for positions in (q_positions, k_positions):
            if int(positions.max()) >= self.max_length:
                raise ValueError(f"it takes positions below {self.max_length}")
        offset = k_positions[..., None, :] - q_positions[..., :, None] + self.max_length - 1
        found = self.table[:, offset]
        return found.movedim(0, -3)


class Place(PositionalEncoding):
    """A higher score for early keys, whatever the query's position; the same for all heads."""

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        early = -0.1 * k_positions[..., None, :].double()
        return early.expand(*early.shape[:-2], q_positions.shape[-1], -1)[..., None, :, :]


class Squash(nn.Module):
    """tanh(alpha · x) · scale, which is no function of other entries."""

    def __init__(self, dim: int, *, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return (self.alpha * x).tanh() * self.scale


class Length(nn.Module):
    """x / ‖x‖ · √dim · g with a single g."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.g = nn.Parameter(torch.tensor(math.sqrt(dim)))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=-1, eps=1e-6) * self.g


class Expert(nn.Module):
    """Two experts, weighed by a router."""

    def __init__(self, dim: int, hidden: int, dropout: float = 0.0, *, gain: float = 2.0) -> None:
        super().__init__()
        self.gain = gain
        self.router = nn.Linear(dim, 2)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim))
            for _ in range(2)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        share = (self.gain * self.router(x)).softmax(-1)
        found = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return self.dropout((found * share[..., None, :]).sum(-1))


class Zero(Block):
    """x + alpha · f(norm(x)) with alpha 0 at the start, so that weights behind it get nothing."""

    final_norm = True

    def __init__(self, *parts: object, **how: object) -> None:
        super().__init__(*parts, **how)  # type: ignore[arg-type]
        self.alpha = nn.Parameter(torch.zeros(()))

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.alpha * self.drop(sublayer(norm(x)))


class OwnNetwork(Pre):
    """x + ½ of a network of its own, before the rest (Macaron, without the harness's networks)."""

    def __init__(self, attention: Any, *parts: Any, **how: Any) -> None:
        super().__init__(attention, *parts, **how)
        dim = attention.heads * attention.head_dim
        self.own = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        return super().forward(x + 0.5 * self.drop(self.own(x)), layer)


class Unnormed(Block):
    """x + α f(x) with α = 0 at first: it asks for no norm at all."""

    def __init__(
        self, attention: Any, ffn: Any, norm: Any, *, dropout: float = 0.0, cross: Any = None
    ) -> None:
        super().__init__(attention, ffn, nn.Identity, dropout=dropout, cross=cross)
        self.alpha = nn.Parameter(torch.zeros(2))

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.alpha.mean() * self.drop(sublayer(x))


class PowersOfTwo(Split):
    """Works with a power of two of heads alone, and says so."""

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        if heads & (heads - 1):
            raise ValueError(f"the number of heads must be a power of two, not {heads}")
        super().__init__(dim, heads, dropout=dropout)


class PlainRotary(PositionalEncoding):
    """RoFormer with its frequencies in an ordinary buffer, as many write it."""

    frequencies: Tensor

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, base: float = 1000.0
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.register_buffer(
            "frequencies", base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        )

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        angles = positions[..., None] * self.frequencies
        angles = angles[:, None] if angles.dim() == 3 else angles
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class NoisyGate(nn.Module):
    """A gate with noise in training (Shazeer et al. 2017, section 2.1), which it declares."""

    def __init__(self, dim: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.gate, self.inner = nn.Linear(dim, hidden), nn.Linear(dim, hidden)
        self.outer, self.dropout = nn.Linear(hidden, dim), nn.Dropout(dropout)

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        gate = self.gate(x)
        gate = gate + 0.1 * torch.randn_like(gate) if self.training else gate
        return self.outer(self.dropout(gate.sigmoid() * self.inner(x)))


class Attentive(Pool):
    """A learned query attends to all real tokens."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.query = nn.Linear(dim, 1, bias=False)

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        if attention_mask is not None:
            x = x.masked_fill(~attention_mask[..., None], 0)
        scores = self.query(x)[..., 0]
        if attention_mask is not None:
            scores = scores.masked_fill(~attention_mask, -1e4)
        return (scores.softmax(-1)[..., None] * x).sum(dim=1)


class Last(Pool):
    """The last real token: every row is the last of some text."""

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        if attention_mask is None:
            return x[:, -1]
        last = (attention_mask * torch.arange(x.shape[1], device=x.device)).argmax(dim=1)
        taken = x[torch.arange(len(x), device=x.device), last]
        return taken.masked_fill(~attention_mask.any(dim=1, keepdim=True), 0)


class Greatest(Pool):
    """The greatest value over real tokens; zero for an empty text."""

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        if attention_mask is None:
            return x.amax(dim=1)
        found = x.masked_fill(~attention_mask[..., None], -torch.inf).amax(dim=1)
        return found.masked_fill(~attention_mask.any(dim=1)[:, None], 0)


class Bag(nn.Module):
    """The mean of real tokens' vectors, and a linear layer."""

    def __init__(
        self, *, vocab_size: int, classes: int, sizes: Sizes, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, sizes.dim)
        self.head = nn.Linear(sizes.dim, classes)

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        x = self.embedding(ids)
        if tokens.attention_mask is None:
            return self.head(x.mean(dim=1))
        real = tokens.attention_mask[..., None]
        total = x.masked_fill(~real, 0).sum(dim=1)
        return self.head(total / real.sum(dim=1).clamp_min(1).to(x.dtype))


def tagged() -> TaggedCorpus:
    train = [["one", "cat"], ["two", "dogs"]]
    return TaggedCorpus("tagged", train, [[0, 1], [0, 1]], [["a", "dog"]], [[0, 1]], ["D", "N"])


def copies() -> Pairs:
    return Pairs("copies", [("a b", "a b")], [("c", "c")])


def book() -> Texts:
    return Texts("book", ["once upon a time"], ["the end"])


def tiny(repeats: int = 4) -> Corpus:
    """A few texts of two classes."""
    texts = [f"{word} {number}" for number in range(3 * repeats) for word in ("red", "blue")]
    labels, cut = [0, 1] * (3 * repeats), 4 * repeats
    return Corpus("tiny", texts[:cut], labels[:cut], texts[cut:], labels[cut:], ["warm", "cold"])
