"""Shared by the tests: peers in float64, padded batches, and the encoder written out."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from zoo_peers.encoders import HfBert, Peer, TorchEncoder, XEncoder

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes

torch.set_num_threads(1)  # the tensors are tiny, and several threads would be slower
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

VOCAB_SIZE, CLASSES = 40, 3
SIZES = Sizes(dim=12, layers=2, heads=2, ffn_dim=20, max_length=16, vocab_size=VOCAB_SIZE)

# The vocabulary of the tests' pretrained model: whole words, and pieces of others.
PIECES = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the of and goal match bank st ##ock tr ##ad ##er t e a m ##m "
    "##a ##e ##t"
).split()

# Every peer with every option that changes what it computes.
WAYS: dict[str, tuple[type[Peer], dict[str, object]]] = {
    "torch": (TorchEncoder, {}),
    "torch-learned": (TorchEncoder, {"positions": "learned", "activation": "gelu"}),
    "torch-masked": (TorchEncoder, {"fast_path": False}),
    "torch-norm-first": (TorchEncoder, {"norm_first": True, "pool": "cls"}),
    "x": (XEncoder, {}),
    "x-absolute": (XEncoder, {"positions": "absolute"}),
    "bert": (HfBert, {}),
    "bert-eager": (HfBert, {"attn_implementation": "eager", "pool": "cls"}),
}


def build(way: str, *, sizes: Sizes = SIZES, dropout: float = 0.0, **options: object) -> Peer:
    """The peer in float64 and evaluation mode, with no parameter at exactly zero or one."""
    kind, given = WAYS[way]
    torch.manual_seed(0)
    peer = kind(
        vocab_size=VOCAB_SIZE, classes=CLASSES, sizes=sizes, dropout=dropout, **given, **options
    )
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return peer.double().eval()


def batch(lengths: Sequence[int], *, more: int = 0, seed: int = 1) -> tuple[Tensor, Tokens]:
    """Ids (B, L) of texts of these lengths with garbage behind them, and their tokens."""
    draw = torch.Generator().manual_seed(seed)
    total = max(lengths) + more
    ids = torch.randint(VOCAB_SIZE, (len(lengths), total), generator=draw)
    attention_mask = torch.arange(total) < torch.tensor(lengths)[:, None]
    return ids, Tokens(attention_mask, torch.arange(total))


@dataclass(frozen=True)
class Layer:
    """One layer's weights: matrices (out, in), applied as x Wᵀ, with their biases."""

    q: tuple[Tensor, Tensor]
    k: tuple[Tensor, Tensor]
    v: tuple[Tensor, Tensor]
    o: tuple[Tensor, Tensor]
    inner: tuple[Tensor, Tensor]
    outer: tuple[Tensor, Tensor]
    attention_norm: tuple[Tensor, Tensor]
    ffn_norm: tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Written:
    """An encoder as the papers have it, over one text without padding, in plain sums.

    embed: ids (n) to vectors (n, D). turn: one head's row at a position, where rotary.
    """

    embed: Callable[[Tensor], Tensor]
    layers: Sequence[Layer]
    heads: int
    pre: bool = False
    gelu: bool = False
    eps: float = 1e-5
    final: tuple[Tensor, Tensor] | None = None
    turn: Callable[[Tensor, int], Tensor] = lambda row, position: row

    def __call__(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            if self.pre:
                x = x + self.attend(layer, self.norm(x, layer.attention_norm))
                x = x + self.ffn(layer, self.norm(x, layer.ffn_norm))
            else:
                x = self.norm(x + self.attend(layer, x), layer.attention_norm)
                x = self.norm(x + self.ffn(layer, x), layer.ffn_norm)
        return x if self.final is None else self.norm(x, self.final)

    def norm(self, x: Tensor, weights: tuple[Tensor, Tensor]) -> Tensor:
        centred = x - x.mean(dim=1, keepdim=True)
        variance = (centred**2).mean(dim=1, keepdim=True)
        return centred / (variance + self.eps).sqrt() * weights[0] + weights[1]

    def attend(self, layer: Layer, x: Tensor) -> Tensor:
        q, k, v = (x @ weight.T + bias for weight, bias in (layer.q, layer.k, layer.v))
        width = x.shape[1] // self.heads
        joined = []
        for head in range(self.heads):
            part = slice(head * width, (head + 1) * width)
            rows_q = [self.turn(row, at) for at, row in enumerate(q[:, part])]
            rows_k = [self.turn(row, at) for at, row in enumerate(k[:, part])]
            out = []
            for one in rows_q:
                scores = torch.stack([one @ other / math.sqrt(width) for other in rows_k])
                share = (scores - scores.max()).exp()
                out.append(share / share.sum() @ v[:, part])
            joined.append(torch.stack(out))
        return torch.cat(joined, dim=1) @ layer.o[0].T + layer.o[1]

    def ffn(self, layer: Layer, x: Tensor) -> Tensor:
        h = x @ layer.inner[0].T + layer.inner[1]
        h = h * (1 + torch.erf(h / math.sqrt(2))) / 2 if self.gelu else h.clamp_min(0)
        return h @ layer.outer[0].T + layer.outer[1]


def linear(module: nn.Module) -> tuple[Tensor, Tensor]:
    """Weight and bias of a linear layer or a norm; zeros where it has no bias."""
    weight, bias = module.weight.detach(), getattr(module, "bias", None)
    return weight, torch.zeros(len(weight), dtype=weight.dtype) if bias is None else bias.detach()
