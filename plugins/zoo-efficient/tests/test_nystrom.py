import pytest
import torch
from efficient_helpers import (
    DIM,
    HEADS,
    agree,
    batch,
    build,
    by_heads,
    encoding,
    rotate,
    softmax_mean,
)
from zoo_efficient.nystrom import Nystrom, pseudo_inverse

from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext


def segment_means(x, marks):
    """Row j of n goes to segment ⌊j m / n⌋."""
    segments = [[] for _ in range(marks)]
    for j, row in enumerate(x):
        segments[j * marks // len(x)].append(row)
    assert max(map(len, segments)) - min(map(len, segments)) <= 1
    return torch.stack([sum(rows) / len(rows) for rows in segments])


def softmax_rows(q, k):
    eye = torch.eye(len(k), dtype=q.dtype)
    return torch.stack([softmax_mean(k @ row / len(row) ** 0.5, eye) for row in q])


def naive_inverse(a, iterations):
    eye = torch.eye(len(a), dtype=a.dtype)
    z = a.T / (a.abs().sum(0).max() * a.abs().sum(1).max())
    for _ in range(iterations):
        z = 0.25 * z @ (13 * eye - a @ z @ (15 * eye - a @ z @ (7 * eye - a @ z)))
    return z


def naive_head(attention, position):
    def head(q, k, v, positions, _):
        q, k = rotate(position, q, positions), rotate(position, k, positions)
        if len(q) <= attention.landmarks:
            return softmax_rows(q, k) @ v
        q_marks = segment_means(q, attention.landmarks)
        k_marks = segment_means(k, attention.landmarks)
        inverse = naive_inverse(softmax_rows(q_marks, k_marks), attention.iterations)
        return softmax_rows(q, k_marks) @ inverse @ softmax_rows(q_marks, k) @ v

    return head


@pytest.mark.parametrize("pe", ["none", "rope"])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("landmarks", [1, 3, 5])
def test_is_the_product_of_three_softmaxes_over_real_tokens(pe, before, landmarks):
    attention = build(Nystrom, landmarks=landmarks)
    position = encoding(pe, attention)
    x, tokens = batch([13, 1, 0, 5, 8], before=before)
    naive = by_heads(attention, position, naive_head(attention, position))
    agree(attention, naive, x, tokens, position, tolerance=1e-8)


@pytest.mark.parametrize("pe", ["none", "rope"])
def test_texts_of_no_more_tokens_than_landmarks_get_softmax_attention(pe):
    exact, attention = build(Fused), build(Nystrom, landmarks=9)
    attention.load_state_dict(exact.state_dict())
    position = encoding(pe, exact)
    # With a longer text in the batch, and without one.
    for lengths in ([9, 4, 1, 30], [9, 4, 1]):
        x, tokens = batch(lengths)
        real = tokens.attention_mask[:3]
        torch.testing.assert_close(
            attention(x, LayerContext(tokens, position))[:3][real],
            exact(x, LayerContext(tokens, position))[:3][real],
        )


def test_more_landmarks_come_closer_to_softmax():
    exact = build(Fused)
    position = encoding("none", exact)
    x, tokens = batch([64], after=0)
    x = x.cumsum(dim=1) / 8  # neighbours alike, as segment means suppose
    target = exact(x, LayerContext(tokens, position)).detach()
    errors = []
    for landmarks in (2, 8, 32, 64):
        attention = build(Nystrom, landmarks=landmarks, iterations=20)
        attention.load_state_dict(exact.state_dict())
        out = attention(x, LayerContext(tokens, position)).detach()
        errors.append(float((out - target).norm()))
    assert errors == sorted(errors, reverse=True), errors
    assert errors[-1] < 1e-9, errors


@pytest.mark.parametrize("size", [1, 2, 7, 16])
def test_iteration_converges_to_the_pseudo_inverse(size):
    generator = torch.Generator().manual_seed(size)
    a = torch.randn(3, size, size, generator=generator, dtype=torch.float64).softmax(dim=-1)
    torch.testing.assert_close(pseudo_inverse(a, 30), torch.linalg.pinv(a), rtol=1e-7, atol=1e-6)
    # A landmark that is not there is a row and a column of zeros, and stays one.
    wide = torch.nn.functional.pad(a, (0, 2, 0, 2))
    padded = torch.nn.functional.pad(pseudo_inverse(a, 6), (0, 2, 0, 2))
    torch.testing.assert_close(pseudo_inverse(wide, 6), padded)


def test_bfloat16_stays_near_float64_though_the_inverse_enlarges_rounding():
    attention = build(Nystrom, landmarks=8)
    position = encoding("none", attention)
    x, tokens = batch([60], after=0)
    target = attention(x, LayerContext(tokens, position))
    half = attention.bfloat16()(x.bfloat16(), LayerContext(tokens, position))
    assert half.dtype == torch.bfloat16
    assert float((half.double() - target).detach().norm() / target.detach().norm()) < 0.05


@pytest.mark.parametrize("options", [{"landmarks": 0}, {"iterations": 0}, {"landmarks": "8"}])
def test_parameters_are_checked(options):
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        Nystrom(DIM, HEADS, **options)
