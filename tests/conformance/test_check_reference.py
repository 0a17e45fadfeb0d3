"""The reference agrees with torch's attention, and the reference parts agree with the reference."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F

from zoo.components.attention.projections import CanonicalWeights
from zoo.components.tokens import Tokens
from zoo.conformance import reference
from zoo.conformance.reference import CausalBias, GrowingCache, ReferenceEncoding

DIM, HEADS = 8, 2


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_the_reference_is_torchs_multi_head_attention() -> None:
    weights = CanonicalWeights(*normal(4, DIM, DIM), *normal(4, DIM, seed=1))
    x, context = normal(2, 3, DIM, seed=2), normal(2, 4, DIM, seed=3)
    seen = torch.tensor([[True, True, False, True], [True, False, False, False]])
    out, shown = reference.attention(
        weights,
        HEADS,
        x,
        context,
        visible=lambda text, query, key: bool(seen[text, key]),
        q_positions=[0, 1, 2],
        k_positions=[0, 1, 2, 3],
    )
    expected, expected_shown = F.multi_head_attention_forward(
        x.transpose(0, 1),
        context.transpose(0, 1),
        context.transpose(0, 1),
        DIM,
        HEADS,
        torch.cat([weights.wq, weights.wk, weights.wv]),
        torch.cat([weights.bq, weights.bk, weights.bv]),
        None,
        None,
        False,
        0.0,
        weights.wo,
        weights.bo,
        key_padding_mask=~seen,
        average_attn_weights=False,
    )
    torch.testing.assert_close(out, expected.transpose(0, 1))
    torch.testing.assert_close(shown, expected_shown)


def test_the_probe_rotates_and_biases_as_the_reference_does() -> None:
    encoding = ReferenceEncoding(rotates=True, biases=True, heads=HEADS)
    heads, positions = normal(1, HEADS, 3, 4), torch.tensor([5, 0, 2])
    turned = encoding.rotate(heads, positions)
    for head, row in itertools.product(range(HEADS), range(3)):
        expected = reference.rotation(heads[0, head, row], int(positions[row]))
        torch.testing.assert_close(turned[0, head, row], expected)
    bias = encoding.bias(positions, torch.arange(4))
    assert bias is not None
    for head, i, j in itertools.product(range(HEADS), range(3), range(4)):
        expected = reference.score_bias(head, int(positions[i]), j)
        torch.testing.assert_close(float(bias[head, i, j]), expected)


def test_the_rotation_turns_a_pair_by_its_angle() -> None:
    turned = reference.rotation(torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.float64), 3)
    angles = torch.tensor([3.0, 0.3], dtype=torch.float64)  # base 100: the second turns 10x slower
    expected = [angles[0].cos(), angles[0].sin(), -angles[1].sin(), angles[1].cos()]
    torch.testing.assert_close(turned, torch.stack(expected))


def test_a_query_that_may_see_nothing_sees_everything() -> None:
    weights = CanonicalWeights(*normal(4, DIM, DIM), *normal(4, DIM, seed=1))
    x = normal(1, 2, DIM)
    about = {"q_positions": [0, 1], "k_positions": [0, 1]}
    nothing, _ = reference.attention(weights, HEADS, x, x, visible=lambda *_: False, **about)
    everything, _ = reference.attention(weights, HEADS, x, x, visible=lambda *_: True, **about)
    torch.testing.assert_close(nothing, everything)


def test_forbid_hides_the_keys_behind_a_query() -> None:
    bias = CausalBias(HEADS).bias(torch.arange(3), torch.arange(3))
    assert bias.shape == (HEADS, 3, 3)
    assert bool(((bias < -1000) == torch.ones(3, 3).triu(1).bool()).all())


def test_the_cache_gives_back_all_it_was_given() -> None:
    cache = GrowingCache()
    k = normal(1, HEADS, 5, 4)
    whole = Tokens(torch.ones(1, 5, dtype=torch.bool), torch.arange(5))
    cache.extend(k[:, :, :2], k[:, :, :2], whole[:2])
    found, _, tokens = cache.extend(k[:, :, 2:], k[:, :, 2:], whole[2:])
    assert torch.equal(found, k)
    assert tokens.positions.tolist() == [0, 1, 2, 3, 4]
    assert tokens.attention_mask is not None
    assert tokens.attention_mask.shape == (1, 5)
