"""Encodings that see queries, keys and the mask, under every attention that offers it."""

import math
from collections.abc import Callable

import pytest
import torch
from paper_parts import Shaw, TransformerXL, XPos
from references import assert_same, canonical, randoms, shake
from torch import Tensor

from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens

DIM, HEADS, LENGTH = 12, 3, 7
SIZES = {"dim": DIM, "heads": HEADS, "head_dim": DIM // HEADS, "max_length": 20}
ATTENTIONS = ("naive", "split", "packed", "fused")
POSITIONS = [0, 2, 3, 4, 7, 8, 11]
MASK = torch.tensor([[True] * 7, [False] * 2 + [True] * 4 + [False]])
# Of an encoding: what query i of a head adds for key j, given all of them and what i may attend to.
Added = Callable[[PositionalEncoding, int, Tensor, Tensor, int, int, list[int]], Tensor]


def shaw(position, head, q, k, i, j, seen):
    offset = min(max(POSITIONS[j] - POSITIONS[i], -3), 3)
    return q[i] @ position.table.weight[offset + 3] / math.sqrt(len(q[i]))


def transformer_xl(position, head, q, k, i, j, seen):
    offset = POSITIONS[i] - POSITIONS[j]
    angles = [offset / 10000 ** (2 * n / DIM) for n in range(DIM // 2)]
    wave = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)], dtype=torch.float64)
    width = DIM // HEADS
    projected = (position.project.weight @ wave)[head * width : (head + 1) * width]
    u, v = position.u[head, 0], position.v[head, 0]
    return (u @ k[j] + (q[i] + v) @ projected) / math.sqrt(width)


def expected(module, position, x: Tensor, causal: bool, added: Added) -> Tensor:
    """softmax(q k / √Dh + added) v, number by number."""
    weights, width = canonical(module), DIM // HEADS
    texts = []
    for text in range(len(x)):
        heads = []
        for h in range(HEADS):
            rows = slice(h * width, (h + 1) * width)
            q, k, v = (x[text] @ weights[f"w{n}"][rows].T + weights[f"b{n}"][rows] for n in "qkv")
            out = []
            for i in range(LENGTH):
                seen = [
                    j
                    for j in range(LENGTH)
                    if MASK[text, j] and not (causal and POSITIONS[j] > POSITIONS[i])
                ] or list(range(LENGTH))
                scores = torch.stack(
                    [
                        q[i] @ k[j] / math.sqrt(width) + added(position, h, q, k, i, j, seen)
                        for j in seen
                    ]
                )
                out.append(scores.softmax(dim=0) @ v[seen])
            heads.append(torch.stack(out))
        texts.append(torch.cat(heads, dim=-1) @ weights["wo"].T + weights["bo"])
    return torch.stack(texts)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("encoding", "added"), [(Shaw, shaw), (TransformerXL, transformer_xl)])
def test_an_encoding_adds_what_its_paper_says_in_every_attention(registry, encoding, added, causal):
    position = shake(encoding(**SIZES), seed=3)
    x = randoms(2, LENGTH, DIM)
    tokens, leaves = Tokens(MASK, torch.tensor(POSITIONS)), [x, *position.parameters()]
    for name in ATTENTIONS:
        choice = registry.choose("attention", name)
        assert choice.can("content-bias")
        module = shake(choice.build(DIM, HEADS), seed=1).eval()
        out = module(x, LayerContext(tokens, position, causal=causal))
        by_hand = expected(module, position, x, causal, added)
        assert_same(out[MASK], by_hand[MASK], leaves, tolerance=1e-6)


def test_an_attention_map_has_the_content_in_it(registry):
    position, x = shake(Shaw(**SIZES)), randoms(2, LENGTH, DIM)
    module = shake(registry.choose("attention", "fused").build(DIM, HEADS)).eval()
    weights = module.weights(x, LayerContext(Tokens.whole(LENGTH), position))
    qkv = module.project.qkv
    v = module.project.split(x @ qkv.weight[-DIM:].T + qkv.bias[-DIM:])
    heads = (weights @ v).transpose(1, 2).flatten(2)
    out = module(x, LayerContext(Tokens.whole(LENGTH), position))
    assert_same(module.out(heads), out)


@pytest.mark.parametrize("name", ["naive", "packed", "fused"])
def test_an_attention_rotates_keys_by_rotate_keys(registry, name):
    position, x = XPos(**SIZES).double(), randoms(1, 2, DIM)
    module = shake(registry.choose("attention", name).build(DIM, HEADS)).eval()
    at = Tokens(None, torch.tensor([3, 400]))
    out, weights = module(x, LayerContext(at, position)), canonical(module)
    q, k, v = ((x[0] @ weights[f"w{n}"].T + weights[f"b{n}"]).view(2, HEADS, -1) for n in "qkv")
    q = position.rotate(q.transpose(0, 1)[None], at.positions)[0]
    k = position.rotate_keys(k.transpose(0, 1)[None], at.positions)[0]
    mixed = (q @ k.mT / math.sqrt(DIM // HEADS)).softmax(-1) @ v.transpose(0, 1)
    assert_same(out[0], mixed.transpose(0, 1).flatten(1) @ weights["wo"].T + weights["bo"])
