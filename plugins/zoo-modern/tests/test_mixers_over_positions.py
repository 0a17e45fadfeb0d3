"""AFT and gMLP, which mix by learned weights of positions, equal to their sums written out."""

from __future__ import annotations

import math

import pytest
import torch
from mixers_helpers import DIM, HEADS, agree, batch, build, decode, encoding, near
from zoo_modern.attention.aft import AttentionFree
from zoo_modern.attention.gmlp import GatedMLP

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens

LONGEST = 12


def aft(a, x, positions, causal):
    q, k, v = (x @ a.project.qkv.weight.T + a.project.qkv.bias).chunk(3, dim=-1)
    rows = []
    for t, place in enumerate(positions):
        top = bottom = 0
        for s in range(t + 1 if causal else len(x)):
            weight = a.q_places.weight[place] @ a.k_places.weight[positions[s]]
            share = (k[s] + weight).exp()
            top, bottom = top + share * v[s], bottom + share
        rows.append(torch.sigmoid(q[t]) * top / bottom)
    return torch.stack(rows) @ a.out.weight.T + a.out.bias


def gmlp(a, x, positions, causal):
    z = x @ a.inner.weight.T + a.inner.bias
    z1, z2 = (z * (1 + torch.erf(z / math.sqrt(2))) / 2).chunk(2, dim=-1)
    z2 = z2 - z2.mean(dim=-1, keepdim=True)
    z2 = z2 / (z2.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * a.norm.weight + a.norm.bias
    rows = []
    for t, place in enumerate(positions):
        seen = range(t + 1 if causal else len(x))
        mixed = sum(a.weight[place, positions[s]] * z2[s] for s in seen)
        rows.append(z1[t] * (mixed + a.bias[place]))
    return torch.stack(rows) @ a.out.weight.T + a.out.bias


MIXERS = {"aft": (AttentionFree, aft, {"rank": 3}), "gmlp": (GatedMLP, gmlp, {"expand": 2})}
EACH = pytest.mark.parametrize("name", MIXERS)


def built(name):
    kind, _, options = MIXERS[name]
    mixer = build(kind, max_length=LONGEST, **options)
    return mixer, encoding("none", mixer)


@pytest.mark.parametrize(("causal", "before"), [(False, 0), (True, 0), (True, 2)])
@EACH
def test_is_its_formula(name, causal, before):
    mixer, position = built(name)
    x, tokens = batch([6, 1, 0, 4], before=before)
    plain = MIXERS[name][1]
    agree(mixer, lambda x, p: plain(mixer, x, p, causal), x, tokens, position, causal=causal)


@EACH
def test_decoding_step_by_step_is_the_whole_at_once(name):
    mixer, position = built(name)
    x, tokens = batch([6, 3], before=1)
    whole = mixer(x, LayerContext(tokens, position, causal=True))
    steps, _ = decode(mixer, x, tokens, position, first=3)
    near(steps[tokens.attention_mask], whole[tokens.attention_mask])


@EACH
def test_few_positions_and_another_text(name):
    mixer, position = built(name)
    x, tokens = batch([6, 3])
    whole, rows = mixer(x, LayerContext(tokens, position, causal=True)), slice(1, 3)
    some = mixer(
        x[:, rows],
        LayerContext(tokens[rows], position, causal=True, context=x, context_tokens=tokens),
    )
    near(some, whole[:, rows])


@EACH
def test_a_longer_text_is_refused(name):
    mixer, position = built(name)
    x = torch.randn(1, LONGEST + 1, DIM).double()
    with pytest.raises(ValueError, match=f"'{name}' is built for {LONGEST} tokens at most"):
        mixer(x, LayerContext(Tokens.whole(LONGEST + 1), position))


def test_far_apart_keys_of_aft_give_finite_means():
    mixer, position = built("aft")
    x = 1000 * torch.randn(1, 6, DIM, generator=torch.Generator().manual_seed(0)).double()
    x.requires_grad_()
    out = mixer(x, LayerContext(Tokens.whole(6), position, causal=True))
    assert out.isfinite().all()
    assert torch.autograd.grad(out.sum(), x)[0].isfinite().all()


def test_in_float32_a_later_key_far_above_changes_no_earlier_row_of_aft():
    mixer, position = built("aft")
    mixer = mixer.float()
    x = torch.randn(1, 6, DIM, generator=torch.Generator().manual_seed(0))
    later = torch.cat([x[:, :5], 100 * x[:, 5:]], dim=1)
    out, again = (
        mixer(each, LayerContext(Tokens.whole(6), position, causal=True))[:, :5]
        for each in (x, later)
    )
    near(again, out, 1e-6)


def test_a_new_gmlp_is_nearly_a_network_of_each_token_by_itself():
    torch.manual_seed(0)
    mixer = GatedMLP(DIM, HEADS, max_length=LONGEST)
    assert mixer.weight.abs().max() < 1e-3
    assert (mixer.bias == 1).all()
