"""The chunked recurrences are the plain ones, token after token."""

from __future__ import annotations

import pytest
import torch
from mixers_helpers import near
from zoo_modern.attention.decayed_sums import decayed_sums
from zoo_modern.attention.delta_rule import delta_rule

B, H, K, V = 2, 3, 4, 5


def tensors(length, decays, heads_of_keys=H, strength=1.0):
    """q, k, v, β, log decay and the first state, in float64."""
    torch.manual_seed(0)
    q, k = (torch.randn(B, heads_of_keys, length, K).double() for _ in range(2))
    v, state = torch.randn(B, H, length, V).double(), torch.randn(B, H, K, V).double()
    decay = -strength * torch.rand(B, H, length, decays).double()
    rate = torch.rand(B, H, length, 1).double()
    k = k / k.norm(dim=-1, keepdim=True)
    return [x.requires_grad_() for x in (q, k, v, rate, decay, state)]


def plain_sums(q, k, v, decay, state):
    q, k = q.expand(-1, H, -1, -1), k.expand(-1, H, -1, -1)
    outs = []
    for t in range(v.shape[2]):
        written = k[:, :, t, :, None] * v[:, :, t, None, :]
        state = decay[:, :, t].exp()[..., None] * state + written
        outs.append((q[:, :, t, :, None] * state).sum(dim=-2))
    return torch.stack(outs, dim=2), state


def plain_delta_rule(q, k, v, rate, decay, state):
    outs = []
    for t in range(v.shape[2]):
        key, b = k[:, :, t, :, None], rate[:, :, t, :, None]
        erase = torch.eye(K).double() - b * key @ key.mT
        state = decay[:, :, t, :, None].exp() * erase @ state + b * key * v[:, :, t, None, :]
        outs.append((q[:, :, t, :, None] * state).sum(dim=-2))
    return torch.stack(outs, dim=2), state


def agree(got, wanted, inputs):
    """Outputs, last states and the gradients of a weighted sum of both."""
    for one, other in zip(got, wanted, strict=True):
        near(one, other)
    weights = [torch.randn_like(x) for x in got]
    grads = [
        torch.autograd.grad(sum((w * x).sum() for w, x in zip(weights, outs, strict=True)), inputs)
        for outs in (got, wanted)
    ]
    for one, other in zip(*grads, strict=True):
        near(one, other)


@pytest.mark.parametrize(("length", "size"), [(1, 4), (7, 1), (7, 3), (8, 4), (7, 16)])
@pytest.mark.parametrize("decays", [1, K])
def test_decayed_sums(length, size, decays):
    q, k, v, _, decay, state = tensors(length, decays)
    got = decayed_sums(q, k, v, decay, state, size=size)
    agree(got, plain_sums(q, k, v, decay, state), (q, k, v, decay, state))


def test_decayed_sums_of_one_key_for_all_heads():
    q, k, v, _, decay, state = tensors(7, 1, heads_of_keys=1)
    got = decayed_sums(q, k, v, decay, state, size=3)
    agree(got, plain_sums(q, k, v, decay, state), (q, k, v, decay, state))


@pytest.mark.parametrize(("length", "size"), [(1, 4), (7, 1), (7, 3), (8, 4), (7, 16)])
def test_delta_rule(length, size):
    q, k, v, rate, decay, state = inputs = tensors(length, 1)
    got = delta_rule(q, k, v, rate, decay, state, size=size)
    agree(got, plain_delta_rule(q, k, v, rate, decay, state), inputs)


@pytest.mark.parametrize("decays", [1, K])
def test_without_a_state_it_begins_with_zero(decays):
    q, k, v, rate, decay, state = tensors(7, decays)
    zero = torch.zeros_like(state)
    for got, wanted in zip(
        decayed_sums(q, k, v, decay, size=3), plain_sums(q, k, v, decay, zero), strict=True
    ):
        near(got, wanted)
    if decays == 1:
        got, wanted = delta_rule(q, k, v, rate, decay), delta_rule(q, k, v, rate, decay, zero)
        near(got[0], wanted[0])


@pytest.mark.parametrize("decays", [1, K])
def test_strong_decays_neither_overflow_nor_vanish(decays):
    # Products of 64 such decays are 0 in any precision, and their inverses infinite.
    q, k, v, rate, decay, state = tensors(70, decays, strength=400.0)
    got = decayed_sums(q, k, v, decay, state)
    agree(got, plain_sums(q, k, v, decay, state), (q, k, v, decay, state))
    if decays == 1:
        got = delta_rule(q, k, v, rate, decay, state)
        agree(got, plain_delta_rule(q, k, v, rate, decay, state), (q, k, v, rate, decay, state))


@pytest.mark.parametrize("run", [decayed_sums, delta_rule])
def test_autocast_leaves_the_sums_in_float32(run):
    q, k, v, rate, decay, _ = (x.detach().float() for x in tensors(70, 1, strength=0.01))
    inputs = (q, k, v, decay) if run is decayed_sums else (q, k, v, rate, decay)
    expected, _ = run(*inputs)
    with torch.autocast("cpu", torch.bfloat16):
        out, state = run(*inputs)
        low, low_state = run(*(x.bfloat16() for x in inputs))
    near(out, expected, 1e-7)
    assert (state.dtype, low_state.dtype, low.dtype) == (
        torch.float32,
        torch.float32,
        torch.bfloat16,
    )
