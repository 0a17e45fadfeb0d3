"""Mixers that are causal by nature, equal to their recurrences over one text, token by token."""

from __future__ import annotations

import functools
import itertools

import pytest
import torch
from mixers_helpers import DIM, HEADS, agree, batch, build, decode, encoding, near
from zoo_modern.attention.deltanet import DeltaNet
from zoo_modern.attention.gated_deltanet import GatedDeltaNet
from zoo_modern.attention.gla import GatedLinear
from zoo_modern.attention.gru import GatedRecurrent
from zoo_modern.attention.mamba2 import Mamba2
from zoo_modern.attention.retention import Retention
from zoo_modern.attention.short_conv import ShortConvolution

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens


def swish(x):
    return x / (1 + (-x).exp())


def softplus(x):
    return (1 + x.exp()).log()


def rms(x, norm, eps):
    return x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() * norm.weight


def centred(x, eps=1e-5):
    x = x - x.mean(dim=-1, keepdim=True)
    return x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt()


def convolve(x, convolution):
    """Σ_i w_i ⊙ x_{t-i}, weights oldest first."""
    rows = []
    for t in range(len(x)):
        row = 0 if convolution.bias is None else convolution.bias
        for i, weight in enumerate(reversed(convolution.weight.unbind())):
            if t >= i:
                row = row + weight * x[t - i]
        rows.append(row)
    return torch.stack(rows)


def by_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).unbind(1)


def scan(q, k, v, step):
    """o_t = S_tᵀ q_t, where step(S, t) is S before token t is written."""
    state, outs = torch.zeros(k.shape[1], v.shape[1]).double(), []
    for t in range(len(q)):
        state = step(state, t) + torch.outer(k[t], v[t])
        outs.append(q[t] @ state)
    return torch.stack(outs)


def short_conv(a, position, x, positions):
    b, c, inner = (x @ a.project.weight.T).chunk(3, dim=-1)
    return (c * convolve(b * inner, a.convolution)) @ a.out.weight.T


def retention(a, position, x, positions):
    q, k, v = (by_heads(part, HEADS) for part in (x @ a.qkv.weight.T).chunk(3, dim=-1))
    heads = []
    for h in range(HEADS):
        qh, kh = (position.rotate(y[h][None, None], positions)[0, 0] for y in (q, k))
        decay = 1 - 2.0 ** (-5 - h)
        out = scan(qh, kh, v[h], lambda s, t, decay=decay: decay * s)
        heads.append(centred(out / (DIM // HEADS) ** 0.5))
    return (swish(x @ a.gate.weight.T) * torch.cat(heads, dim=-1)) @ a.out.weight.T


def gla(a, position, x, positions):
    q, k, v = (by_heads(x @ layer.weight.T, HEADS) for layer in (a.q, a.k, a.v))
    decay = x @ a.decay[0].weight.T @ a.decay[1].weight.T + a.decay[1].bias
    decay = by_heads((1 / (1 + (-decay).exp())) ** (1 / 16), HEADS)
    heads = []
    for h in range(HEADS):
        out = scan(q[h], k[h], v[h], lambda s, t, h=h: decay[h][t][:, None] * s)
        heads.append(centred(out) * a.norm.weight + a.norm.bias)
    gate = swish(x @ a.gate.weight.T + a.gate.bias)
    return (gate * torch.cat(heads, dim=-1)) @ a.out.weight.T


def deltanet(a, position, x, positions, highest=1.0):
    return normed_delta_heads(a, x, [1.0] * HEADS, highest) @ a.out.weight.T


def gated_deltanet(a, position, x, positions):
    decay = (-a.log_a.exp() * softplus(x @ a.step.weight.T + a.step_bias)).exp()
    heads = normed_delta_heads(a, x, decay.unbind(1))
    return (heads * swish(x @ a.gate.weight.T)) @ a.out.weight.T


def normed_delta_heads(a, x, decays, highest=1.0):
    qkv = swish(convolve(x @ a.qkv.weight.T, a.convolution)).chunk(3, dim=-1)
    q, k, v = (by_heads(part, HEADS) for part in qkv)
    rates = highest * torch.sigmoid(x @ a.rate.weight.T)
    heads = []
    for h in range(HEADS):
        qh, kh = (y[h] / (y[h].square().sum(-1, keepdim=True) + 1e-6).sqrt() for y in (q, k))
        rate, decay = rates[:, h : h + 1], torch.as_tensor(decays[h]).expand(len(x))

        def step(state, t, kh=kh, rate=rate, decay=decay):
            return decay[t] * (state - rate[t] * torch.outer(kh[t], kh[t] @ state))

        out = scan(qh / (DIM // HEADS) ** 0.5, kh, rate * v[h], step)
        heads.append(rms(out, a.norm, 1e-6))
    return torch.cat(heads, dim=-1)


def mamba2(a, position, x, positions):
    width, state = 2 * DIM, 6
    z, xbc, steps = (x @ a.project.weight.T).split([width, width + 2 * state, HEADS], dim=-1)
    inner, b, c = swish(convolve(xbc, a.convolution)).split([width, state, state], dim=-1)
    steps = softplus(steps + a.step_bias)
    heads = []
    for h, xh in enumerate(by_heads(inner, HEADS)):
        decay = (-a.log_a[h].exp() * steps[:, h]).exp()
        out = scan(c, b, steps[:, h : h + 1] * xh, lambda s, t, decay=decay: decay[t] * s)
        heads.append(out + a.skip[h] * xh)
    return rms(torch.cat(heads, dim=-1) * swish(z), a.norm, 1e-5) @ a.out.weight.T


def gru(a, position, x, positions):
    g, state, outs = a.recurrence, torch.zeros(DIM).double(), []
    weights = (g.weight_ih_l0, g.bias_ih_l0, g.weight_hh_l0, g.bias_hh_l0)
    w_r, w_z, w_n, b_r, b_z, b_n, u_r, u_z, u_n, c_r, c_z, c_n = (
        part for weight in weights for part in weight.chunk(3)
    )
    for token in x:
        r = torch.sigmoid(w_r @ token + b_r + u_r @ state + c_r)
        z = torch.sigmoid(w_z @ token + b_z + u_z @ state + c_z)
        new = torch.tanh(w_n @ token + b_n + r * (u_n @ state + c_n))
        state = (1 - z) * new + z * state
        outs.append(state)
    return torch.stack(outs) @ a.out.weight.T


MIXERS = {
    "gru": (GatedRecurrent, gru, {}),
    "short-conv": (ShortConvolution, short_conv, {}),
    "retention": (Retention, retention, {}),
    "gla": (GatedLinear, gla, {"rank": 3}),
    "deltanet": (DeltaNet, deltanet, {"size": 3}),
    "negative": (DeltaNet, functools.partial(deltanet, highest=2.0), {"size": 3, "negative": True}),
    "gated-deltanet": (GatedDeltaNet, gated_deltanet, {"size": 3}),
    "mamba2": (Mamba2, mamba2, {"state": 6, "size": 3}),
}
EACH = pytest.mark.parametrize("name", MIXERS)


def built(name):
    kind, _, options = MIXERS[name]
    mixer = build(kind, **options)
    return mixer, encoding("rope" if name == "retention" else "none", mixer)


# Padding on the right, on the left, and between the first token and the next.
@pytest.mark.parametrize("padding", [{}, {"before": 2}, {"gap": 3}])
@EACH
def test_is_its_recurrence(name, padding):
    mixer, position = built(name)
    x, tokens = batch([7, 1, 0, 4], **padding)
    plain = MIXERS[name][1]
    agree(mixer, lambda x, p: plain(mixer, position, x, p), x, tokens, position, causal=True)


@EACH
def test_is_its_recurrence_beyond_a_chunk(name):
    mixer, position = built(name)
    x, tokens = batch([67])
    plain = MIXERS[name][1]
    agree(mixer, lambda x, p: plain(mixer, position, x, p), x, tokens, position, causal=True)


@pytest.mark.parametrize("first", [1, 4])
@EACH
def test_decoding_step_by_step_is_the_whole_at_once(name, first):
    mixer, position = built(name)
    for padding in ({}, {"before": 2}, {"gap": 2}):
        x, tokens = batch([6, 3], **padding)
        whole = mixer(x, LayerContext(tokens, position, causal=True))
        steps, cache = decode(mixer, x, tokens, position, first)
        near(steps[tokens.attention_mask], whole[tokens.attention_mask])
        kept = list(cache.state(mixer).values())
        assert all(len(tensor) == len(x) for tensor in kept)  # so that beams can be reordered
        assert sum(tensor[0].numel() for tensor in kept) < 40 * DIM


@EACH
def test_not_even_nan_leaves_the_padding(name):
    mixer, position = built(name)
    x, tokens = batch([5, 0, 2], before=1, gap=1)
    real = tokens.attention_mask
    out = mixer(x, LayerContext(tokens, position, causal=True))
    spoilt = x.masked_fill(~real[..., None], torch.nan)
    again = mixer(spoilt, LayerContext(tokens, position, causal=True))
    torch.testing.assert_close(again[real], out[real], rtol=0, atol=0)


@EACH
def test_it_refuses_a_call_that_is_not_causal_or_reads_another_text(name):
    mixer, position = built(name)
    x, tokens = torch.randn(1, 4, DIM).double(), Tokens.whole(4)
    alone = f"attention '{mixer.name}' reads the text before each token"
    with pytest.raises(ValueError, match=alone):
        mixer(x, LayerContext(tokens, position))
    with pytest.raises(ValueError, match=alone):
        mixer(
            x, LayerContext(tokens, position, causal=True, context=x.clone(), context_tokens=tokens)
        )


@pytest.mark.parametrize(
    ("kind", "parameter"),
    [
        (ShortConvolution, "size"),
        (GatedLinear, "rank"),
        (DeltaNet, "size"),
        (GatedDeltaNet, "size"),
        *itertools.product([Mamba2], ["state", "expand", "size"]),
    ],
)
def test_bad_parameters_are_refused(kind, parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be a whole number of at least 1"):
        kind(DIM, HEADS, **{parameter: 0})


def test_new_steps_are_from_a_thousandth_to_a_tenth():
    torch.manual_seed(0)
    for kind in (Mamba2, GatedDeltaNet):
        steps = softplus(kind(64, 64).step_bias.detach())
        assert 0.001 <= steps.min() < 0.002
        assert 0.05 < steps.max() <= 0.1
