import itertools
import math

import pytest
import torch
from efficient_helpers import DIM, HEADS, agree, batch, build, by_heads, encoding, rotate
from zoo_efficient.performer import Performer, orthogonal_directions

from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens


def naive_head(attention, position, causal):
    """Lemma 1 as it stands, without any shift of the exponents."""
    directions = attention.directions

    def phi(x):
        x = x / attention.head_dim**0.25
        return torch.stack(
            [(w @ x - x @ x / 2).exp() / math.sqrt(len(directions)) for w in directions]
        )

    def head(q, k, v, positions, _):
        q, k = rotate(position, q, positions), rotate(position, k, positions)
        phi_q, phi_k = [phi(row) for row in q], [phi(row) for row in k]
        rows = []
        for i in range(len(q)):
            seen = range(i + 1) if causal else range(len(k))
            top = sum((phi_q[i] @ phi_k[j]) * v[j] for j in seen)
            rows.append(top / sum(phi_q[i] @ phi_k[j] for j in seen))
        return torch.stack(rows)

    return head


@pytest.mark.parametrize("pe", ["none", "rope"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("before", [0, 3])
def test_is_the_attention_of_its_features(pe, causal, before):
    attention = build(Performer)
    position = encoding(pe, attention)
    x, tokens = batch([9, 1, 0, 5], before=before)
    naive = by_heads(attention, position, naive_head(attention, position, causal))
    agree(attention, naive, x, tokens, position, causal=causal)


def test_the_map_is_what_forward_mixes_with():
    attention = build(Performer)
    position = encoding("none", attention)
    x, tokens = batch([9, 5])
    weights = attention.weights(x, LayerContext(tokens, position))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
    assert (weights[1, ..., 5:] == 0).all()
    v = attention.project(x, x)[2].masked_fill(~tokens.attention_mask[:, None, :, None], 0)
    mixed = attention.out((weights @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(mixed, attention(x, LayerContext(tokens, position)))


def test_comes_closer_to_softmax_with_more_features():
    exact = build(Fused)
    position = encoding("none", exact)
    x, tokens = batch([20, 12])
    x = x / 8  # the variance grows as the exponential of |q + k|², and with it the tails
    real = tokens.attention_mask
    target = exact(x, LayerContext(tokens, position))[real]
    errors = []
    for features in (16, 256, 4096):
        attention = build(Performer, features=features)
        squares = []
        for draw in range(4):
            torch.manual_seed(draw)
            directions = orthogonal_directions(features, attention.head_dim)
            attention.load_state_dict(exact.state_dict() | {"directions": directions})
            out = attention(x, LayerContext(tokens, position))[real]
            squares.append((out - target).square().mean())
        errors.append(float(torch.stack(squares).mean().sqrt().detach()))
    # By 1/√M each step is a fourth; chance is given its share.
    assert all(b < a / 2 for a, b in itertools.pairwise(errors)), errors
    assert errors[-1] < 1e-3, errors


def test_scores_depend_on_offsets_alone_as_features_grow():
    """Which is why `absolute` is declared: for few features they do not."""
    x, tokens = batch([12], after=0)
    x = x / 8
    later = Tokens(tokens.attention_mask, tokens.positions + 7)
    moved = []
    for features in (16, 4096):
        attention = build(Performer, features=features)
        position = encoding("rope", attention)
        here, there = (attention(x, LayerContext(t, position)) for t in (tokens, later))
        moved.append(float((here - there).detach().abs().max()))
    assert moved[0] > 1e-3
    assert moved[1] < moved[0] / 2


def test_kernel_estimate_is_unbiased():
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 6, generator=generator, dtype=torch.float64) / 2
    torch.manual_seed(0)
    w = torch.cat([orthogonal_directions(6, 6) for _ in range(2000)]).double()
    estimates = (w @ (q + k) - (q @ q + k @ k) / 2).exp()
    error = estimates.std() / math.sqrt(len(estimates))
    assert abs(estimates.mean() - (q @ k).exp()) < 4 * error


def test_directions_are_orthogonal_by_blocks_and_as_long_as_gaussian_vectors():
    torch.manual_seed(0)
    directions = orthogonal_directions(10, 4)
    assert directions.shape == (10, 4)
    for block in directions.split(4):
        gram = block @ block.T
        torch.testing.assert_close(gram, gram.diagonal().diag(), rtol=0, atol=1e-5)
    torch.manual_seed(1)
    squares = orthogonal_directions(4000, 4).square().sum(dim=-1)
    assert abs(squares.mean() - 4) < 0.2
    assert abs(squares.var() - 8) < 1


def test_features_belong_to_the_seed_and_to_the_state():
    one, two = build(Performer), build(Performer)
    torch.testing.assert_close(one.directions, two.directions, rtol=0, atol=0)
    assert "directions" in one.state_dict()
    before = one.directions.clone()
    x, tokens = batch([5])
    one.train()(x, LayerContext(tokens, encoding("none", one)))
    torch.testing.assert_close(one.directions, before, rtol=0, atol=0)


def test_long_queries_and_keys_neither_overflow_nor_vanish():
    attention = build(Performer).float()
    position = encoding("none", attention).float()
    x = 100 * torch.randn(1, 30, DIM, generator=torch.Generator().manual_seed(0))
    weights = attention.weights(x, LayerContext(Tokens.whole(30), position))
    assert weights.shape == (1, HEADS, 30, 30)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize("features", [0, -3, True, "many", 2.0])
def test_number_of_features_must_be_one(features):
    with pytest.raises(ValueError, match="features must be a whole number of at least 1"):
        Performer(DIM, HEADS, features=features)
