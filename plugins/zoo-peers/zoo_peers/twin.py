"""A cell of the zoo that is the same function as a peer, with the same weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.components.norm.layer import LayerNorm
from zoo.config.sizes import Sizes
from zoo.models.architectures import Classifier
from zoo.models.build import build_classifier
from zoo.registry import loading
from zoo.registry.cell import Cell
from zoo_peers.hf_bert import HfBert
from zoo_peers.peer import Peer
from zoo_peers.torch_encoder import TorchEncoder
from zoo_peers.x_encoder import XEncoder

BERT_EPS = 1e-12


class Tie(NamedTuple):
    """Rows of one of our parameters that are a multiple of one of the peer's, plus a constant."""

    ours: Tensor
    theirs: Tensor
    rows: slice = slice(None)
    factor: float = 1.0
    constant: Tensor | float = 0.0


def twin(
    peer: Peer,
    sizes: Sizes,
    *,
    vocab_size: int,
    classes: int,
    dropout: float = 0.0,
    attention: str = "fused",
) -> Classifier:
    """Our classifier that computes what the peer computes, with the peer's weights.

    The peer's positions must be learned, or x-transformers' rotary ones, which are the zoo's rope;
    torch's encoder must have norm_first and GELU. Where the
    peer has no bias or shift, ours starts at zero. dropout: of the cell, in training; without
    dropout on either side both learn the same. attention: one with a packed QKV projection.
    Raises ValueError for a peer that no cell equals.
    """
    rotary = isinstance(peer, XEncoder) and peer.embed.position is None
    own = {
        "attention": attention,
        "pe": "rope" if rotary else "learned",
        "ffn": "gelu",
        "norm": f"layer(eps={BERT_EPS})" if isinstance(peer, HfBert) else "layer",
        "block": "post" if isinstance(peer, HfBert) else "pre",
        "pool": next(n for n in ("mean", "cls") if type(peer.pool).__name__.lower() == n),
    }
    cell = Cell.parse(loading.load().registry, own)
    ours = build_classifier(
        cell,
        sizes,
        vocab_size=vocab_size,
        classes=classes,
        seed=0,
        head_hidden=peer.head_hidden,
        dropout=dropout,
    )
    if isinstance(peer, HfBert):
        ours.encoder.embedding_norm = LayerNorm(sizes.dim, eps=BERT_EPS)
    ours.head.load_state_dict(peer.head.state_dict())
    with torch.no_grad():
        for tie in ties(peer, ours):
            tie.ours[tie.rows].copy_(tie.factor * tie.theirs + tie.constant)
    return ours.train(peer.training)


def ties(peer: Peer, ours: Classifier) -> Iterator[Tie]:
    """Every parameter of the peer's encoder and the one of ours that equals it."""
    if isinstance(peer, HfBert):
        yield from _bert(peer.encoder, ours.encoder)
    elif isinstance(peer, XEncoder):
        yield from _x(peer, ours.encoder)
    elif isinstance(peer, TorchEncoder):
        yield from _torch(peer, ours.encoder)
    else:
        raise ValueError(f"no cell is known to be equal to a {type(peer).__name__}")


def _torch(peer: Any, ours: Any) -> Iterator[Tie]:
    if peer.encoder.norm is None:
        raise ValueError("no cell is known to be equal to torch's encoder without norm_first")
    yield Tie(ours.embedding.weight, peer.embed.embedding.weight)
    yield Tie(ours.position.table.weight, peer.embed.position.table.weight)
    for block, layer in zip(ours.blocks, peer.encoder.layers, strict=True):
        attention = layer.self_attn
        yield Tie(block.attention.project.qkv.weight, attention.in_proj_weight)
        yield Tie(block.attention.project.qkv.bias, attention.in_proj_bias)
        yield from _same(block.attention.out, attention.out_proj)
        yield from _same(block.ffn.inner, layer.linear1)
        yield from _same(block.ffn.outer, layer.linear2)
        yield from _norm(block.attention_norm, layer.norm1)
        yield from _norm(block.ffn_norm, layer.norm2)
    yield from _norm(ours.final_norm, peer.encoder.norm)


def _bert(bert: Any, ours: Any) -> Iterator[Tie]:
    words, parts = bert.embeddings.word_embeddings.weight, bert.embeddings
    # BERT does not scale its embeddings, and adds the vector of the first sentence to each.
    yield Tie(ours.embedding.weight, words, factor=1 / math.sqrt(words.shape[1]))
    first = parts.token_type_embeddings.weight[0].detach()
    yield Tie(ours.position.table.weight, parts.position_embeddings.weight, constant=first)
    yield from _norm(ours.embedding_norm, parts.LayerNorm)
    for block, layer in zip(ours.blocks, bert.encoder.layer, strict=True):
        attention = layer.attention
        parts = attention.self
        yield from _packed(block.attention.project.qkv, parts.query, parts.key, parts.value)
        yield from _same(block.attention.out, attention.output.dense)
        yield from _same(block.ffn.inner, layer.intermediate.dense)
        yield from _same(block.ffn.outer, layer.output.dense)
        yield from _norm(block.attention_norm, attention.output.LayerNorm)
        yield from _norm(block.ffn_norm, layer.output.LayerNorm)


def _x(peer: Any, ours: Any) -> Iterator[Tie]:
    yield Tie(ours.embedding.weight, peer.embed.embedding.weight)
    if peer.embed.position is not None:
        table = peer.embed.position.table
        yield Tie(ours.position.table.weight, table.emb.weight, factor=table.scale)
    layers = list(peer.encoder.layers)
    for block, (a_norms, attention, _), (f_norms, ffn, _) in zip(
        ours.blocks, layers[::2], layers[1::2], strict=True
    ):
        parts = attention.to_q, attention.to_k, attention.to_v
        yield from _packed(block.attention.project.qkv, *parts)
        yield from _same(block.attention.out, attention.to_out)
        yield from _same(block.ffn.inner, ffn.ff[0][0])
        yield from _same(block.ffn.outer, ffn.ff[2])
        yield from _norm(block.attention_norm, a_norms[0])
        yield from _norm(block.ffn_norm, f_norms[0])
    yield from _norm(ours.final_norm, peer.encoder.final_norm)


def _packed(qkv: Any, *parts: Any) -> Iterator[Tie]:
    """Three layers stacked in one."""
    width = len(parts[0].weight)
    for number, part in enumerate(parts):
        yield from _same(qkv, part, slice(number * width, (number + 1) * width))


def _same(ours: Any, theirs: Any, rows: slice = slice(None)) -> Iterator[Tie]:
    yield Tie(ours.weight, theirs.weight, rows)
    if theirs.bias is not None:
        yield Tie(ours.bias, theirs.bias, rows)


def _norm(ours: Any, theirs: Any) -> Iterator[Tie]:
    """A layer norm; that of x-transformers has no shift, and stores its scale minus one."""
    if hasattr(theirs, "gamma"):
        yield Tie(ours.scale, theirs.gamma, constant=float(theirs.unit_offset))
    else:
        yield Tie(ours.scale, theirs.weight)
        yield Tie(ours.shift, theirs.bias)
