"""Each encoding is its paper's formula at any positions."""

import math

import pytest
import torch
from references import ALIBI_SLOPES, assert_same, randoms, rotated, sinusoid
from torch import nn

from zoo.components.pe.base import PositionalEncoding
from zoo.registry import Registry

DIM, HEADS, HEAD_DIM, LENGTH = 8, 2, 4, 5
ALL = ("none", "sin", "learned", "rope", "alibi")
POSITIONS = torch.tensor([[0, 1, 2, 3, 4], [7, 3, 3, 0, 250]])


def build(registry: Registry, text: str, **sizes: int) -> PositionalEncoding:
    torch.manual_seed(0)
    arguments = {"dim": DIM, "heads": HEADS, "head_dim": HEAD_DIM, "max_length": 256, **sizes}
    return registry.choose("pe", text).build(**arguments).double()


# The frequencies are float32 numbers: at position 250 that is worth 1e-5.
NEAR = pytest.mark.parametrize(
    ("positions", "tolerance"), [(POSITIONS[:1], 1e-6), (POSITIONS, 2e-5)], ids=["near", "far"]
)


@NEAR
@pytest.mark.parametrize("base", [10000.0, 50.0])
def test_sin_adds_the_papers_waves(registry, base, positions, tolerance):
    x = randoms(len(positions), LENGTH, DIM)
    waves = [torch.stack([sinusoid(p, DIM, base) for p in row]) for row in positions.tolist()]
    out = build(registry, f"sin(base={base})").embed(x, positions)
    assert_same(out, x + torch.stack(waves), [x], tolerance)


@NEAR
@pytest.mark.parametrize("base", [10000.0, 50.0])
@pytest.mark.parametrize("compiling", [False, True])  # then without complex numbers
def test_rope_rotates_pairs_as_complex_numbers(
    registry, monkeypatch, compiling, base, positions, tolerance
):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: compiling)
    x = randoms(len(positions), HEADS, LENGTH, HEAD_DIM)
    turned = [
        rotated(x[b, h, i], position, base)
        for b, row in enumerate(positions.tolist())
        for h in range(HEADS)
        for i, position in enumerate(row)
    ]
    out = build(registry, f"rope(base={base})").rotate(x, positions)
    assert_same(out, torch.stack(turned).view_as(x), [x], tolerance)


@pytest.mark.parametrize("heads", sorted(ALIBI_SLOPES))
def test_alibi_lowers_scores_by_slope_times_distance(registry, heads):
    alibi = build(registry, "alibi", heads=heads)
    q_at, k_at = [0, 4, 2], [0, 1, 2, 9]
    bias = alibi.bias(torch.tensor(q_at), torch.tensor(k_at))
    assert bias is not None
    assert bias.shape == (heads, 3, 4)
    for h in range(heads):
        for i, q in enumerate(q_at):
            for j, k in enumerate(k_at):
                expected = -ALIBI_SLOPES[heads][h] * abs(q - k)
                assert math.isclose(float(bias[h, i, j]), expected, rel_tol=1e-6, abs_tol=1e-12)
    assert not registry.get("pe", "alibi").can("directed")


def test_learned_adds_a_row_of_its_table_and_trains_the_rows_it_used(registry):
    learned = build(registry, "learned")
    (table,) = learned.parameters()
    assert table.shape == (256, DIM)
    x, positions = randoms(2, 3, DIM), torch.tensor([[0, 1, 2], [2, 2, 9]])
    rows = torch.stack([torch.stack([x[b, i] + table[positions[b, i]] for i in range(3)])
                        for b in range(2)])  # fmt: skip
    assert_same(learned.embed(x, positions), rows, [x, table])
    (gradient,) = torch.autograd.grad(learned.embed(x, positions).sum(), [table])
    assert gradient.sum(dim=1).div(DIM).nonzero().flatten().tolist() == [0, 1, 2, 9]
    assert gradient[2].tolist() == [3.0] * DIM


@pytest.mark.parametrize(("text", "std"), [("learned", 0.02), ("learned(std=0.5)", 0.5)])
def test_learned_starts_with_the_deviation_asked_for(registry, text, std):
    (table,) = build(registry, text, dim=64).parameters()
    assert math.isclose(table.std().item(), std, rel_tol=0.05)


def test_learned_has_no_position_beyond_its_greatest_length(registry):
    learned = build(registry, "learned", max_length=4)
    assert learned.embed(torch.zeros(1, 4, DIM), torch.arange(4)).shape == (1, 4, DIM)
    with pytest.raises(IndexError):
        learned.embed(torch.zeros(1, 5, DIM), torch.arange(5))


@pytest.mark.parametrize("name", ALL)
def test_half_precision_stays_half_precision(registry, name):
    encoding = build(registry, name).float()
    if name == "learned":
        encoding = encoding.bfloat16()
    x = torch.ones(1, LENGTH, DIM, dtype=torch.bfloat16)
    q = torch.ones(1, HEADS, LENGTH, HEAD_DIM, dtype=torch.bfloat16)
    at = torch.arange(LENGTH)
    assert encoding.embed(x, at).dtype == torch.bfloat16
    assert encoding.rotate(q, at).dtype == torch.bfloat16


@pytest.mark.parametrize("name", ALL)
def test_frequencies_and_slopes_are_not_saved_with_the_weights(registry, name):
    encoding: nn.Module = build(registry, name)
    assert set(encoding.state_dict()) == ({"table.weight"} if name == "learned" else set())


def test_odd_widths_are_refused_where_numbers_go_in_pairs(registry):
    with pytest.raises(ValueError, match="even width, not 7"):
        build(registry, "sin", dim=7)
    with pytest.raises(ValueError, match="even head width, not 3"):
        build(registry, "rope", head_dim=3)
