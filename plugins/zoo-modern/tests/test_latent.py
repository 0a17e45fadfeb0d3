"""Multi-head latent attention, equal to its equations; its cache is the latent."""

from __future__ import annotations

import math

import pytest
import torch
from mixers_helpers import DIM, HEADS, agree, batch, build, decode, encoding, near
from zoo_modern.attention.latent import Latent

from zoo.components.layer_context import LayerContext

WIDTH, ROTATED = DIM // HEADS, DIM // HEADS // 2


def rms(x, norm):
    return x / (x.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt() * norm.weight


def written(a, position, causal):
    """DeepSeek-V2, equations 9 to 19, for one text."""

    def rotate(x, positions):
        return position.rotate(x[None, None], positions)[0, 0]

    def naive(x, positions):
        p = a.project
        latent_q = rms(x @ p.q_down.weight.T, p.q_norm)
        down = x @ p.kv_down.weight.T
        latent, shared = (
            rms(down[:, : p.kv_rank], p.kv_norm),
            rotate(down[:, p.kv_rank :], positions),
        )
        bias, heads = position.bias(positions, positions), []
        for h in range(HEADS):
            q = latent_q @ p.q_up.weight.T[:, h * (WIDTH + ROTATED) :][:, : WIDTH + ROTATED]
            k, v = (latent @ p.kv_up.weight.T[:, 2 * h * WIDTH :][:, : 2 * WIDTH]).chunk(2, dim=-1)
            rows = []
            for i in range(len(x)):
                seen = slice(0, i + 1) if causal else slice(0, len(x))
                q_turned = rotate(q[:, WIDTH:], positions)[i]
                scores = k[seen] @ q[i, :WIDTH] + shared[seen] @ q_turned
                scores = scores / math.sqrt(WIDTH + ROTATED)
                scores = scores if bias is None else scores + bias[h, i, seen]
                rows.append(scores.softmax(dim=-1) @ v[seen])
            heads.append(torch.stack(rows))
        return torch.cat(heads, dim=-1) @ a.out.weight.T + a.out.bias

    return naive


@pytest.mark.parametrize(("pe", "causal"), [("rope", False), ("rope", True), ("alibi", True)])
def test_is_its_equations(pe, causal):
    attention = build(Latent, kv_rank=5, q_rank=7)
    position = encoding(pe, attention)
    assert attention.position_dim == ROTATED
    x, tokens = batch([5, 0, 3], before=1)
    agree(attention, written(attention, position, causal), x, tokens, position, causal=causal)


def test_the_cache_keeps_the_latent_and_one_rotated_key():
    attention = build(Latent, kv_rank=5)
    position = encoding("rope", attention)
    x, tokens = batch([6, 3], before=1)
    whole = attention(x, LayerContext(tokens, position, causal=True))
    steps, cache = decode(attention, x, tokens, position, first=3)
    near(steps[tokens.attention_mask], whole[tokens.attention_mask])
    turned, latent, _ = cache.stored
    assert (turned.shape[1:], latent.shape[1:]) == ((1, x.shape[1], ROTATED), (1, x.shape[1], 5))


@pytest.mark.parametrize(("dim", "heads", "ranks"), [(128, 16, (32, 64)), (24, 2, (12, 12))])
def test_the_default_ranks_are_four_and_twelve_heads_at_most_half_the_model(dim, heads, ranks):
    project = Latent(dim, heads).project
    assert (project.kv_rank, project.q_down.out_features) == ranks


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ValueError, match="kv_rank must be a whole number of at least 1, not 0"):
        Latent(DIM, HEADS, kv_rank=0)
    with pytest.raises(ValueError, match="width 16 does not divide into 3 heads"):
        Latent(DIM, 3)
