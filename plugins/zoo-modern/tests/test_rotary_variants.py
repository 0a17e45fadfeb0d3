"""Variants of the rotary encoding: pairs of numbers as complex ones, multiplied by e^(i angle)."""

import cmath
import itertools
import math
from collections import Counter

import pytest
import torch
from part_comparison import HEAD_DIM, HEADS, MAX_LENGTH, SIZES, agree, build, randoms
from zoo_modern.pe.rope_layers import LayeredRotary
from zoo_modern.pe.rope_partial import PartialRotary
from zoo_modern.pe.rope_random import RandomRotary
from zoo_modern.pe.xpos import XPos
from zoo_modern.pe.yarn import Yarn

from zoo.components.pe.rope import Rotary

POSITIONS = torch.tensor([0, 1, 5, 70])
TOLERANCE = 1e-5  # angles are float32


def turned(x, positions, frequencies):
    """Pairs of x (B, H, L, Dh) as complex numbers, times e^(i · position · frequency)."""
    angles = positions.double()[:, None] * torch.tensor(frequencies, dtype=torch.float64)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def thetas(width, base=10000.0):
    return [base ** (-2 * i / width) for i in range(width // 2)]


def heads(seed=1, width=HEAD_DIM):
    return randoms(2, HEADS, len(POSITIONS), width, seed=seed)


@pytest.mark.parametrize(("share", "width"), [(0.25, 2), (0.7, 4), (1.0, 6)])
def test_partial_rope_rotates_the_first_numbers_of_a_head(share, width):
    position, x = build(PartialRotary, share=share), heads()
    expected = torch.cat([turned(x[..., :width], POSITIONS, thetas(width)), x[..., width:]], -1)
    agree(position.rotate(x, POSITIONS), expected, [x], TOLERANCE)
    agree(position.rotate_keys(x, POSITIONS), expected, [x], TOLERANCE)


def test_xpos_scores_are_the_papers():
    position, q, k = build(XPos), heads(), heads(seed=2)
    out = position.rotate(q, POSITIONS) @ position.rotate_keys(k, POSITIONS).mT
    rows = []
    for text, head, n, m in itertools.product(range(2), range(HEADS), range(4), range(4)):
        away, score = int(POSITIONS[n] - POSITIONS[m]), 0
        for i, theta in enumerate(thetas(HEAD_DIM)):
            zeta = (2 * i / HEAD_DIM + 0.4) / 1.4
            (a, b), (c, d) = (x[text, head, r, 2 * i : 2 * i + 2] for x, r in ((q, n), (k, m)))
            turn = cmath.exp(1j * away * theta) * zeta ** (away / 512)
            # Re((a + ib)(c - id) · turn)
            score = score + (a * c + b * d) * turn.real - (b * c - a * d) * turn.imag
        rows.append(score)
    expected = torch.stack(rows).view(2, HEADS, 4, 4)
    agree(out, expected, (q, k), TOLERANCE)


def test_xpos_stays_finite_at_far_positions():
    position, x = XPos(**{**SIZES, "max_length": 30_000}), torch.ones(1, 1, 2, HEAD_DIM)
    far = torch.tensor([0, 29_999])
    for out in (position.rotate(x, far), position.rotate_keys(x, far)):
        assert out.isfinite().all()
        assert out.abs().amax(dim=-1).min() > 0


def test_rope_layers_has_the_base_of_its_layer():
    x = heads()
    for layer, base in enumerate((50.0, 3000.0, 50.0, 3000.0)):
        position = build(LayeredRotary, layer_index=layer, bases=(50.0, 3000.0))
        expected = turned(x, POSITIONS, thetas(HEAD_DIM, base))
        agree(position.rotate(x, POSITIONS), expected, [x], TOLERANCE)


def yarn_frequency(theta, length, factor, alpha, beta):
    """h(θ) of definition 2, case by case."""
    turns = length / (2 * math.pi / theta)
    if turns < alpha:
        return theta / factor
    if turns > beta:
        return theta
    share = (turns - alpha) / (beta - alpha)
    return (1 - share) * theta / factor + share * theta


@pytest.mark.parametrize(("length", "factor"), [(None, 16.0), (200, 4.0)])
def test_yarn_is_the_papers(length, factor):
    position = build(Yarn, head_dim=16, length=length, factor=factor)
    x, shorter = heads(width=16), MAX_LENGTH / factor if length is None else length
    frequencies = [yarn_frequency(t, shorter, factor, 1, 32) for t in thetas(16)]
    assert len({round(f / t, 6) for f, t in zip(frequencies, thetas(16), strict=True)}) > 2
    expected = turned(x, POSITIONS, frequencies) * (0.1 * math.log(factor) + 1)
    agree(position.rotate(x, POSITIONS), expected, [x], TOLERANCE)


def test_yarn_without_stretching_is_rope():
    x = heads()
    out, expected = (build(k).rotate(x, POSITIONS) for k in (Rotary, Rotary))
    out = build(Yarn, factor=1.0).rotate(x, POSITIONS)
    torch.testing.assert_close(out, expected)


def test_random_positions_are_a_sorted_draw_in_training_the_same_for_queries_and_keys():
    position = build(RandomRotary, max_length=8, simulated=100).train()
    x, places = heads(), torch.tensor([0, 3, 4, 7])
    for _ in range(5):
        before = position.drawn.clone()
        position.after_step()
        drawn = position.drawn.tolist()
        assert drawn != before.tolist()
        assert drawn == sorted(set(drawn))
        assert len(drawn) == 8
        assert min(drawn) >= 0
        assert max(drawn) < 100
        expected = turned(x, position.drawn[places], thetas(HEAD_DIM))
        agree(position.rotate(x, places), expected, [x], TOLERANCE)
        agree(position.rotate_keys(x, places), expected, [x], TOLERANCE)


def test_every_set_of_positions_is_drawn_equally_often():
    position = RandomRotary(**{**SIZES, "max_length": 2}, simulated=4)
    counts = Counter()
    for _ in range(3000):
        position.after_step()
        counts[tuple(position.drawn.tolist())] += 1
    assert set(counts) == set(itertools.combinations(range(4), 2))
    assert all(400 < count < 600 for count in counts.values())  # 500 expected, deviation 20


def test_random_positions_are_evenly_spread_in_evaluation_and_go_on_beyond_their_length():
    position, x = build(RandomRotary, max_length=8, simulated=100, length=3), heads()
    places = torch.tensor([0, 3, 4, 7])
    expected = turned(x, places * 12.5, thetas(HEAD_DIM))
    agree(position.rotate(x, places), expected, [x], TOLERANCE)
    a, b, _ = position.drawn.tolist()
    assert position.train().spread(places).tolist() == [a, 100 + a, 100 + b, 200 + b]


def test_a_resumed_training_goes_on_with_the_same_draw():
    first, second = (RandomRotary(**SIZES) for _ in range(2))
    assert not torch.equal(first.drawn, second.drawn)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.drawn, second.drawn)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (PartialRotary, {"share": 0.0}, "share must be above 0 and at most 1, not 0.0"),
        (XPos, {"scale": 0.0}, "scale must be above 0, not 0.0"),
        (LayeredRotary, {"bases": ()}, "bases must have at least one base"),
        (Yarn, {"factor": 0.5}, "factor must be at least 1, not 0.5"),
        (Yarn, {"alpha": 40.0}, "alpha must be at least 0 and below beta, not 40.0 and 32.0"),
        (Yarn, {"length": 0}, "length must be at least 1, not 0"),
        (RandomRotary, {"simulated": 1000}, "simulated must be at least as large as the maximum"),
        (RandomRotary, {"length": 0}, "the length of 0, which must be 1 or more"),
    ],
)
def test_what_cannot_be_is_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**SIZES, **options)
