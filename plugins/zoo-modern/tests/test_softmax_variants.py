"""Variants of softmax attention, equal to their formulas written out query by query."""

from __future__ import annotations

import math

import pytest
import torch
from mixers_helpers import DIM, HEADS, agree, batch, build, decode, encoding, near
from torch import Tensor
from zoo_modern.attention.cosine import Cosine
from zoo_modern.attention.differential import Differential
from zoo_modern.attention.gated import Gated
from zoo_modern.attention.grouped_query import GroupedQuery, MultiQuery
from zoo_modern.attention.qk_norm import QKNorm
from zoo_modern.attention.sigmoid import Sigmoid
from zoo_modern.attention.sink import Sink
from zoo_modern.attention.talking_heads import TalkingHeads
from zoo_modern.attention.top_k import TopK

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens


def linear(x: Tensor, layer: torch.nn.Linear) -> Tensor:
    return x @ layer.weight.T + (0 if layer.bias is None else layer.bias)


def rms(x: Tensor, scale: Tensor, eps: float) -> Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() * scale


def softmax(scores: Tensor) -> Tensor:
    weights = (scores - scores.max()).exp()
    return weights / weights.sum()


class Written:
    """Attention over one text, head by head and query by query; subclasses change one step."""

    def __init__(self, attention, position, causal):
        self.attention, self.position, self.causal = attention, position, causal

    def project(self, x):
        q, k, v = linear(x, self.attention.project.qkv).chunk(3, dim=-1)
        return [part.chunk(self.attention.heads, dim=-1) for part in (q, k, v)]

    def norm(self, q, k, head):
        return q, k

    def rotated(self, x, positions):
        return self.position.rotate(x[None, None], positions)[0, 0]

    def rows(self, length):
        """Each query with the keys that it sees."""
        return [(i, slice(0, i + 1) if self.causal else slice(0, length)) for i in range(length)]

    def scores(self, q, k, positions, head, width=None):
        products = q @ k.T / math.sqrt(width or q.shape[-1])
        bias = self.position.bias(positions, positions)
        if bias is None:
            return products
        return products + bias.expand(self.attention.heads, *products.shape)[head]

    def all_scores(self, qs, ks, positions):
        out = []
        for head, (q, k) in enumerate(zip(qs, ks, strict=True)):
            q, k = self.norm(q, k, head)
            q, k = self.rotated(q, positions), self.rotated(k, positions)
            out.append(self.scores(q, k, positions, head))
        return out

    def weights(self, scores, head):
        return softmax(scores)

    def heads(self, x, positions):
        qs, ks, vs = self.project(x)
        all_scores = self.all_scores(qs, ks, positions)
        return [
            torch.stack(
                [self.weights(scores[i, seen], head) @ v[seen] for i, seen in self.rows(len(x))]
            )
            for head, (scores, v) in enumerate(zip(all_scores, vs, strict=True))
        ]

    def __call__(self, x, positions):
        return linear(torch.cat(self.heads(x, positions), dim=-1), self.attention.out)


class WrittenGroups(Written):
    def project(self, x):
        heads = self.attention.heads
        k, v = linear(x, self.attention.project.kv).chunk(2, dim=-1)
        groups = k.shape[1] // self.attention.head_dim
        serving = [h * groups // heads for h in range(heads)]
        q = linear(x, self.attention.project.q).chunk(heads, dim=-1)
        k, v = k.chunk(groups, dim=-1), v.chunk(groups, dim=-1)
        return q, [k[g] for g in serving], [v[g] for g in serving]


class WrittenQKNorm(Written):
    def norm(self, q, k, head):
        norms = self.attention.q_norm, self.attention.k_norm
        return [rms(x, norm.weight, 1e-6) for x, norm in zip((q, k), norms, strict=True)]


class WrittenQKLayerNorm(WrittenQKNorm):
    def norm(self, q, k, head):
        return super().norm(q - q.mean(-1, keepdim=True), k - k.mean(-1, keepdim=True), head)


class WrittenCosine(Written):
    def norm(self, q, k, head):
        return q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True)

    def scores(self, q, k, positions, head, width=None):
        scale = self.attention.log_scale[head, 0, 0].exp()
        return super().scores(q * scale, k, positions, head, width=1)


class WrittenGate(Written):
    def __call__(self, x, positions):
        heads = torch.cat(self.heads(x, positions), dim=-1)
        gates = torch.sigmoid(linear(x, self.attention.gate))
        gates = gates.repeat_interleave(DIM // gates.shape[1], dim=1)
        return linear(heads * gates, self.attention.out)


class WrittenSink(Written):
    def project(self, x):
        layers = self.attention.project.q, self.attention.project.k, self.attention.project.v
        return [linear(x, layer).chunk(self.attention.heads, dim=-1) for layer in layers]

    def weights(self, scores, head):
        return scores.exp() / (self.attention.sinks[head].exp() + scores.exp().sum())


class WrittenSigmoid(WrittenSink):
    def weights(self, scores, head):
        return 1 / (1 + (-scores).exp() * len(scores))


class WrittenTopK(WrittenSink):
    def weights(self, scores, head):
        best = sorted(range(len(scores)), key=lambda j: -scores[j].item())[: self.attention.keys]
        mask = torch.full_like(scores, -torch.inf)
        mask[best] = 0
        return softmax(scores + mask)


class WrittenTalkingHeads(WrittenSink):
    def all_scores(self, qs, ks, positions):
        bias = self.position.bias(positions, positions)
        none = torch.zeros(len(qs), 1, 1)
        bias = none if bias is None else bias.expand(len(qs), -1, -1)
        plain = [s - b for s, b in zip(super().all_scores(qs, ks, positions), bias, strict=True)]
        mixing = self.attention.mix_scores
        return [
            sum(mixing[g, h] * plain[h] for h in range(len(plain))) + bias[g]
            for g in range(len(plain))
        ]

    def heads(self, x, positions):
        qs, ks, vs = self.project(x)
        all_scores, mixing = self.all_scores(qs, ks, positions), self.attention.mix_weights
        out = []
        for g, v in enumerate(vs):
            rows = [
                sum(mixing[g, h] * softmax(s[i, seen]) for h, s in enumerate(all_scores)) @ v[seen]
                for i, seen in self.rows(len(x))
            ]
            out.append(torch.stack(rows))
        return out


class WrittenDifferential(Written):
    def heads(self, x, positions):
        qs, ks, vs = self.project(x)
        q1, k1, q2, k2 = self.attention.vectors
        initial = 0.8 - 0.6 * math.exp(-0.3 * 2)  # the third layer
        share = torch.exp(q1.dot(k1)) - torch.exp(q2.dot(k2)) + initial
        half, out = self.attention.head_dim // 2, []
        for head, (q, k, v) in enumerate(zip(qs, ks, vs, strict=True)):
            one, two = (
                self.scores(*(self.rotated(y[:, p], positions) for y in (q, k)), positions, head)
                for p in (slice(0, half), slice(half, None))
            )
            rows = [
                (softmax(one[i, seen]) - share * softmax(two[i, seen])) @ v[seen]
                for i, seen in self.rows(len(x))
            ]
            out.append((1 - initial) * rms(torch.stack(rows), self.attention.norm.weight, 1e-5))
        return out


VARIANTS = {
    "mqa": (MultiQuery, WrittenGroups, {"heads": 4}),
    "gqa": (GroupedQuery, WrittenGroups, {"heads": 4}),
    "qk-norm": (QKNorm, WrittenQKNorm, {}),
    "qk-norm(norm='layer')": (QKNorm, WrittenQKLayerNorm, {"norm": "layer"}),
    "cosine": (Cosine, WrittenCosine, {}),
    "gated": (Gated, WrittenGate, {}),
    "gated(gate='headwise')": (Gated, WrittenGate, {"gate": "headwise"}),
    "sink": (Sink, WrittenSink, {}),
    "sigmoid": (Sigmoid, WrittenSigmoid, {}),
    "top-k(keys=3)": (TopK, WrittenTopK, {"keys": 3}),
    "talking-heads": (TalkingHeads, WrittenTalkingHeads, {"heads": 4}),
    "differential": (Differential, WrittenDifferential, {"layer_index": 2}),
}


@pytest.mark.parametrize(("pe", "causal"), [("rope", False), ("alibi", True)])
@pytest.mark.parametrize("name", VARIANTS)
def test_is_its_formula(name, pe, causal):
    kind, written, options = VARIANTS[name]
    attention = build(kind, **options)
    position = encoding(pe, attention)
    x, tokens = batch([5, 0, 3], before=1)
    agree(attention, written(attention, position, causal), x, tokens, position, causal=causal)


@pytest.mark.parametrize("name", VARIANTS)
def test_decoding_step_by_step_is_the_whole_at_once(name):
    kind, _, options = VARIANTS[name]
    attention = build(kind, **options)
    position = encoding("rope", attention)
    x, tokens = batch([6, 3], before=1)
    whole = attention(x, LayerContext(tokens, position, causal=True))
    steps, _ = decode(attention, x, tokens, position, first=3)
    near(steps[tokens.attention_mask], whole[tokens.attention_mask])


@pytest.mark.parametrize(("kind", "kept"), [(MultiQuery, 1), (GroupedQuery, 2)])
def test_the_cache_keeps_the_few_keys(kind, kept):
    attention = build(kind, heads=4)
    x, tokens = batch([6, 3])
    _, cache = decode(attention, x, tokens, encoding("none", attention), first=3)
    k, v, _ = cache.stored
    assert k.shape == v.shape == (2, kept, x.shape[1], DIM // 4)


def test_grouped_queries_are_torchs():
    attention = build(GroupedQuery, heads=8, kv_heads=2)
    x = torch.randn(2, 5, DIM).double()
    got = attention(x, LayerContext(Tokens.whole(5), encoding("none", attention), causal=True))
    q = linear(x, attention.project.q).unflatten(-1, (8, -1)).transpose(1, 2)
    kv = linear(x, attention.project.kv).unflatten(-1, (4, -1)).transpose(1, 2)
    heads = torch.nn.functional.scaled_dot_product_attention(
        q, *kv.chunk(2, dim=1), is_causal=True, enable_gqa=True
    )
    near(got, linear(heads.transpose(1, 2).flatten(2), attention.out))


def test_new_grouped_queries_are_as_wide_as_those_of_other_attentions():
    torch.manual_seed(0)
    few, full = GroupedQuery(64, 4).project, Gated(64, 4).project
    bound = full.qkv.weight.abs().max().item()
    for layer in (few.q, few.kv):
        assert layer.weight.abs().max().item() == pytest.approx(bound, rel=0.01)
        assert (layer.bias == 0).all()


@pytest.mark.parametrize(("heads", "groups"), [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3), (8, 4)])
def test_the_default_groups_fit_every_number_of_heads(heads, groups):
    attention = GroupedQuery(24 * heads, heads)
    assert attention.project.kv.out_features == 2 * 24 * groups


def test_the_temperature_is_never_below_a_hundredth():
    attention = build(Cosine)
    x, tokens = torch.randn(1, 4, DIM).double(), Tokens.whole(4)
    outs = []
    for scale in (100.0, 1e6):
        torch.nn.init.constant_(attention.log_scale, math.log(scale))
        outs.append(attention(x, LayerContext(tokens, encoding("none", attention))))
    near(*outs)


def test_new_weights_begin_as_plain_softmax_where_the_paper_says_so():
    x, tokens = torch.randn(2, 5, DIM).double(), Tokens.whole(5)
    attention = TalkingHeads(DIM, HEADS).double()
    expected = WrittenSink(attention, encoding("none", attention), causal=False)
    expected.weights = lambda scores, head: softmax(scores)
    got = attention(x, LayerContext(tokens, encoding("none", attention)))
    near(got[0], expected(x[0], tokens.positions))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (GroupedQuery, {"kv_heads": 3}, "kv_heads must divide the 2 heads"),
        (QKNorm, {"norm": "batch"}, "norm must be one of rms, layer"),
        (Gated, {"gate": "all"}, "gate must be one of elementwise, headwise"),
        (TopK, {"keys": 0}, "keys must be a whole number of at least 1"),
        (Differential, {"heads": 16}, "even head width, not 1"),
    ],
)
def test_bad_parameters_are_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        build(kind, **options)
