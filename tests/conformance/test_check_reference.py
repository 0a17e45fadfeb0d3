"""The reference agrees with torch's attention, and the reference parts agree with the reference."""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F

from zoo.components.attention.projections import CanonicalWeights
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance import reference
from zoo.conformance.reference import ReferenceEncoding

DIM, HEADS = 8, 2


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def drawn_weights() -> CanonicalWeights:
    shapes = (3 * DIM, DIM), (3 * DIM,), (DIM, DIM), (DIM,)
    return CanonicalWeights(*(normal(*shape, seed=seed) for seed, shape in enumerate(shapes)))


def test_the_reference_is_torchs_multi_head_attention():
    weights = drawn_weights()
    x, context = normal(2, 3, DIM, seed=2), normal(2, 4, DIM, seed=3)
    seen = torch.tensor([[True, True, False, True], [True, False, False, False]])
    keys = Tokens(seen, torch.arange(4))
    layer = LayerContext(Tokens.whole(3), context=context, context_tokens=keys)
    out, shown = reference.attention(weights, HEADS, x, layer)
    expected, expected_shown = F.multi_head_attention_forward(
        x.transpose(0, 1),
        context.transpose(0, 1),
        context.transpose(0, 1),
        DIM,
        HEADS,
        weights.qkv,
        weights.qkv_bias,
        None,
        None,
        False,
        0.0,
        weights.out,
        weights.out_bias,
        key_padding_mask=~seen,
        average_attn_weights=False,
    )
    torch.testing.assert_close(out, expected.transpose(0, 1))
    torch.testing.assert_close(shown, expected_shown)


def test_the_encodings_rotation_and_bias_act_on_the_scores_before_the_softmax():
    """Two tokens, one head, every matrix the identity: written out vector by vector."""
    none, eye = torch.zeros(4, dtype=torch.float64), torch.eye(4, dtype=torch.float64)
    weights = CanonicalWeights(eye.repeat(3, 1), none.repeat(3), eye, none)
    x, positions = normal(1, 2, 4), torch.tensor([3, 1])
    encoding = ReferenceEncoding(rotates=True, biases=True)
    layer = LayerContext(Tokens(None, positions), encoding)
    out, shown = reference.attention(weights, 1, x, layer)
    turned = [rotated(vector, int(at)) for vector, at in zip(x[0], positions, strict=True)]
    for i, j in itertools.product(range(2), range(2)):
        powers = [
            math.exp(float(turned[i] @ turned[k]) / 2 + biased(0, int(positions[i]), int(at)))
            for k, at in enumerate(positions)
        ]
        torch.testing.assert_close(float(shown[0, 0, i, j]), powers[j] / sum(powers))
    torch.testing.assert_close(out[0], shown[0, 0] @ x[0])


def rotated(vector: torch.Tensor, position: int) -> torch.Tensor:
    """Su et al. 2021, equation 34, with base 100, pair by pair."""
    pairs = []
    for pair in range(len(vector) // 2):
        angle = position * 100.0 ** (-2 * pair / len(vector))
        x, y = vector[2 * pair], vector[2 * pair + 1]
        pairs.append(x * math.cos(angle) - y * math.sin(angle))
        pairs.append(x * math.sin(angle) + y * math.cos(angle))
    return torch.stack(pairs)


def biased(head: int, q_position: int, k_position: int) -> float:
    """What the encoding's bias is said to be: of the head, the offset and its direction."""
    offset = k_position - q_position
    return math.sin(0.9 * offset + head) - 0.3 * (head + 1) * max(offset, 0)


def test_the_encoding_rotates_and_biases_as_written_out_for_one_vector():
    encoding = ReferenceEncoding(rotates=True, biases=True, heads=HEADS)
    heads, positions = normal(1, HEADS, 3, 4), torch.tensor([5, 0, 2])
    turned = encoding.rotate(heads, positions)
    for head, row in itertools.product(range(HEADS), range(3)):
        expected = rotated(heads[0, head, row], int(positions[row]))
        torch.testing.assert_close(turned[0, head, row], expected)
    bias = encoding.bias(positions, torch.arange(4))
    assert bias is not None
    for head, i, j in itertools.product(range(HEADS), range(3), range(4)):
        torch.testing.assert_close(float(bias[head, i, j]), biased(head, int(positions[i]), j))


def test_a_query_that_may_see_nothing_sees_everything():
    weights = drawn_weights()
    x, whole = normal(1, 2, DIM), torch.arange(2)
    nothing, everything = (
        reference.attention(weights, HEADS, x, LayerContext(Tokens(mask, whole)))[0]
        for mask in (torch.zeros(1, 2, dtype=torch.bool), None)
    )
    torch.testing.assert_close(nothing, everything)


def test_in_a_causal_layer_no_key_is_later_than_its_query():
    unseen = reference.hidden(LayerContext(Tokens.whole(3), causal=True))
    assert unseen[0, 0].tolist() == [[False, True, True], [False, False, True], [False] * 3]
