"""Norms, and functions in their place: each against its formula in other operations."""

import math

import pytest
import torch
from part_comparison import agree, build, randoms
from zoo_modern.norm.derf import Derf
from zoo_modern.norm.dyt import DyT
from zoo_modern.norm.group import GroupNorm
from zoo_modern.norm.scale import ScaleNorm

DIM = 12


def dyt(norm, x):
    e = torch.exp(2 * norm.alpha * x)
    return norm.scale * (e - 1) / (e + 1) + norm.shift


def derf(norm, x):
    # erf from the distribution function of the normal distribution.
    area = torch.special.ndtr(math.sqrt(2) * (norm.alpha * x + norm.inner_shift))
    return norm.scale * (2 * area - 1) + norm.shift


def scale(norm, x):
    lengths = sum(x[..., d] ** 2 for d in range(DIM)) ** 0.5
    return torch.stack([norm.length * x[..., d] / lengths for d in range(DIM)], dim=-1)


def group(norm, x):
    parts = []
    for part in x.split(3, dim=-1):
        mean = sum(part.unbind(-1)) / 3
        variance = sum((one - mean) ** 2 for one in part.unbind(-1)) / 3
        parts.append((part - mean[..., None]) / (variance + 1e-5)[..., None] ** 0.5)
    return torch.cat(parts, dim=-1) * norm.scale + norm.shift


@pytest.mark.parametrize(
    ("kind", "formula"), [(DyT, dyt), (Derf, derf), (ScaleNorm, scale), (GroupNorm, group)]
)
def test_a_norm_is_its_papers(kind, formula):
    norm, x = build(kind, DIM), randoms(2, 3, DIM)
    agree(norm(x), formula(norm, x), (x, *norm.parameters()))


def test_group_norm_is_torchs_for_single_positions():
    norm, x = build(GroupNorm, DIM, groups=2), randoms(2, 5, DIM)
    theirs = torch.nn.GroupNorm(2, DIM).double()
    theirs.load_state_dict({"weight": norm.scale.detach(), "bias": norm.shift.detach()})
    torch.testing.assert_close(norm(x), theirs(x.flatten(0, 1)).view(2, 5, DIM))


def test_new_ones_begin_as_their_papers_say():
    x = torch.randn(4, DIM)
    torch.testing.assert_close(DyT(DIM)(x), torch.tanh(0.5 * x))
    torch.testing.assert_close(Derf(DIM)(x), torch.erf(0.5 * x))
    torch.testing.assert_close(ScaleNorm(DIM)(x).norm(dim=-1), torch.full((4,), math.sqrt(DIM)))
    torch.testing.assert_close(DyT(DIM, alpha=2)(x), torch.tanh(2 * x))


@pytest.mark.parametrize("groups", [0, 5, 12])
def test_groups_that_do_not_divide_the_width_are_refused(groups):
    with pytest.raises(ValueError, match=f"width 12 does not divide into {groups} groups"):
        GroupNorm(DIM, groups=groups)
