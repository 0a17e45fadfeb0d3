"""Right components unlike built-ins and plug-ins: no check may mistake them for broken ones."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn

from zoo import hookimpl
from zoo.components.attention.split import Split
from zoo.components.block.base import Block, LayerContext, Sublayer
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.data.sources.corpus import Corpus, Pairs, TaggedCorpus, Texts
from zoo.errors import ZooError
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

    add("pe", "directed", Directed, "bias", "order", "directed", "fixed-length")
    add("pe", "place", Place, "bias", "order", "absolute", "directed")
    add("block", "unnormed", Unnormed, "residual", "cross")
    add("attention", "powers-of-two", PowersOfTwo, *SOFT)
    add("pe", "plain-rotary", PlainRotary, "rotate", "order", base=1000.0)
    add("ffn", "noisy-gate", NoisyGate, "random")
    add("baseline", "bag", Bag, "tokens")
    add("baseline", "following-tag", FollowingTag, "token-texts", "deterministic", alpha=0.1)
    add("data", "tiny", tiny, "text-labels", repeats=4, train="the first ones")
    add("data", "tagged", tagged, "token-labels")
    add("data", "copies", copies, "pairs")
    add("data", "book", book, "text")


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


class Bag(nn.Module):
    """The mean of real tokens' vectors, and a linear layer."""

    def __init__(
        self, *, vocab_size: int, classes: int, sizes: Sizes, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, sizes.dim)
        self.head = nn.Linear(sizes.dim, classes)

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        return self.head(self.mean(self.embedding(ids), tokens))

    def mean(self, x: Tensor, tokens: Tokens) -> Tensor:
        if tokens.attention_mask is None:
            return x.mean(dim=1)
        real = tokens.attention_mask[..., None]
        return x.masked_fill(~real, 0).sum(dim=1) / real.sum(dim=1).clamp_min(1).to(x.dtype)


class FollowingTag:
    """Tags by the token and the tag before it: argmax ln n(token, t) + ln n(tag before, t)."""

    def __init__(self, *, alpha: float = 0.1) -> None:
        self.alpha = alpha

    def fit(self, texts: Any, tags: Any) -> None:
        self.counts: Counter[tuple[object, int]] = Counter()
        for tokens, own in zip(texts, tags, strict=True):
            before = "start"
            for token, tag in zip(tokens, own, strict=True):
                if tag >= 0:
                    self.counts.update([(before, tag), (token, tag)])
                    before = str(tag)
        self.tags = sorted({tag for _, tag in self.counts})

    def predict(self, texts: Any) -> list[list[int]]:
        return [self.tagged(tokens) for tokens in texts]

    def tagged(self, tokens: Any) -> list[int]:
        before, found = "start", list[int]()
        for token in tokens:
            rows = [(self.counts[token, t], self.counts[before, t]) for t in self.tags]
            sure = [2 * math.log(a + self.alpha) + 0.5 * math.log(b + self.alpha) for a, b in rows]
            found.append(self.tags[sure.index(max(sure))])
            before = str(found[-1])
        return found


def tagged() -> TaggedCorpus:
    train = [["one", "cat"], ["two", "dogs"]]
    splits = {"train": (train, [[0, 1], [0, 1]]), "test": ([["a", "dog"]], [[0, 1]])}
    return TaggedCorpus("tagged", splits, ["D", "N"])


def copies() -> Pairs:
    return Pairs("copies", {"train": (["a b"], ["a b"]), "test": (["c"], ["c"])})


def book() -> Texts:
    splits = {"train": (["once upon a time"],), "validation": (["the end"],)}
    return Texts("book", splits, notes={"held out": "the end"})


def tiny(repeats: int = 4, train: str = "the first ones") -> Corpus:
    """A few texts of two classes, each of which has a word of its own; six, to be scored."""
    texts = [f"{word} {number}" for number in range(3 * repeats) for word in ("red", "blue")]
    labels, cut = [0, 1] * (3 * repeats), 6 * repeats - 6
    if train != "the first ones":
        raise ZooError(f"tiny trains on the first ones, not on {train}")
    splits = {"train": (texts[:cut], labels[:cut]), "test": (texts[cut:], labels[cut:])}
    return Corpus("tiny", splits, ["warm", "cold"])
