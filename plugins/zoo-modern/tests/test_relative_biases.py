"""Encodings that add a bias by position: each against its formula, pair by pair."""

import itertools
import math

import pytest
import torch
from part_comparison import HEADS, SIZES, agree, build
from zoo_modern.pe.alibi_signed import SignedAlibi
from zoo_modern.pe.alibi_two_sided import TwoSidedAlibi
from zoo_modern.pe.fire import Fire
from zoo_modern.pe.kerple import Kerple
from zoo_modern.pe.t5 import T5

from zoo.components.pe.alibi import Alibi

QUERIES = torch.tensor([0, 3, 17, 150, 900])
KEYS = torch.tensor([700, 0, 1, 2, 3, 9, 16, 31, 129, 151, 1000])


def written_out(pair):
    """The bias (H, Lq, Lk) of a formula of head, query position and key position."""
    every = itertools.product(range(HEADS), QUERIES.tolist(), KEYS.tolist())
    return torch.stack([pair(*one) for one in every]).view(HEADS, len(QUERIES), len(KEYS))


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (12, 40)])
def test_t5_has_the_buckets_of_the_paper(bidirectional, buckets, distance):
    options = {"buckets": buckets, "max_distance": distance, "bidirectional": bidirectional}
    position = build(T5, **options)

    def pair(head, i, j):
        side = buckets // 2 if bidirectional else buckets
        exact, away = side // 2, abs(i - j) if bidirectional else max(i - j, 0)
        bucket = away
        if away >= exact:
            log = math.log(away / exact) / math.log(distance / exact) * (side - exact)
            bucket = min(exact + math.floor(log + 1e-12), side - 1)
        return position.table[bucket + (side if bidirectional and j > i else 0), head]

    agree(position.bias(QUERIES, KEYS), written_out(pair), position.parameters())


def test_kerple_is_the_papers_kernel():
    for kernel in ("log", "power"):
        position = build(Kerple, kernel=kernel)
        position.after_step()
        r1, r2 = position.r1, position.r2

        def pair(head, i, j, kernel=kernel, r1=r1, r2=r2):
            away = torch.tensor(float(abs(i - j)), dtype=torch.float64)
            if kernel == "log":
                return -r1[head] * torch.log(1 + r2[head] * away)
            if i == j:
                return 0 * r1[head] * r2[head]
            return -r1[head] * torch.exp(r2[head] * torch.log(away))

        agree(position.bias(QUERIES, KEYS), written_out(pair), (r1, r2))


@pytest.mark.parametrize(("kernel", "most"), [("log", 5.0), ("power", 2.0)])
def test_kerple_stays_where_its_kernel_is_defined(kernel, most):
    position = Kerple(**SIZES, kernel=kernel)
    with torch.no_grad():
        position.r1.copy_(torch.tensor([-3.0, 0.5]))
        position.r2.copy_(torch.tensor([-1.0, 5.0]))
    unchanged = position.bias(QUERIES, KEYS).detach()
    assert unchanged.isfinite().all()
    position.after_step()
    assert position.r1.tolist() == pytest.approx([0.01, 0.5])
    assert position.r2.tolist() == pytest.approx([0.01, most])
    torch.testing.assert_close(position.bias(QUERIES, KEYS), unchanged, rtol=0, atol=0)


def test_fire_is_the_papers_and_alike_in_both_directions():
    position = build(Fire, threshold=100.0)  # below some queries and above others

    def pair(head, i, j):
        threshold = 100.0 * position.multiplier
        whole = max(max(i, j), threshold.item())
        # Written so that the gradient of the threshold is there where it counts.
        whole = threshold if whole == threshold.item() else torch.tensor(float(whole))
        share = torch.log(position.c * abs(i - j) + 1) / (torch.log(position.c * whole + 1) + 1e-6)
        hidden = (position.inner.weight[:, 0] * share + position.inner.bias).clamp_min(0)
        return position.outer.weight[head] @ hidden + position.outer.bias[head]

    out = position.bias(QUERIES, KEYS)
    agree(out, written_out(pair), position.parameters())
    torch.testing.assert_close(position.bias(KEYS, QUERIES), out.mT)


def test_fire_sees_all_distances_between_0_and_1():
    position, seen = build(Fire), []
    position.inner.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    far = torch.tensor([0, 600, 50_000])
    position.bias(far, far)
    assert seen[0].min().item() == 0
    assert 0.999 < seen[0].max().item() <= 1


def test_signed_alibi_is_the_papers_matrix_and_alibi_where_causal():
    position = build(SignedAlibi)

    def pair(head, i, j):
        return torch.tensor(2.0 ** (-4 * (head + 1)) * (j - i), dtype=torch.float64)

    out = position.bias(QUERIES, KEYS)
    torch.testing.assert_close(out, written_out(pair))
    past = QUERIES[:, None] >= KEYS
    assert torch.equal(out[:, past], build(Alibi).bias(QUERIES, KEYS)[:, past])


def test_two_sided_alibi_has_a_slope_for_each_side_and_begins_as_alibi():
    position = build(TwoSidedAlibi)

    def pair(head, i, j):
        left, right = position.beta[head] * (i - j), position.gamma[head] * (j - i)
        return -(left if j < i else right)

    agree(position.bias(QUERIES, KEYS), written_out(pair), position.parameters())
    new = TwoSidedAlibi(**SIZES).bias(QUERIES, KEYS)
    torch.testing.assert_close(new, Alibi(**SIZES).bias(QUERIES, KEYS))


@pytest.mark.parametrize("kind", [Kerple, SignedAlibi, TwoSidedAlibi])
def test_far_distances_differ_in_a_model_in_bfloat16_too(kind):
    position = kind(**SIZES).bfloat16()
    low = position.bias(torch.tensor([1000]), torch.tensor([0, 1]))
    high = position.double().bias(torch.tensor([1000]), torch.tensor([0, 1]))
    torch.testing.assert_close(low.double(), high, rtol=1e-6, atol=0)
    assert (low[..., 0] != low[..., 1]).all()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (T5, {"buckets": 2}, "buckets must be an even number of at least 4, not 2"),
        (T5, {"buckets": 7}, "buckets must be an even number of at least 4, not 7"),
        (T5, {"max_distance": 8}, "max_distance must be above 8, not 8"),
        (Kerple, {"kernel": "sine"}, "kernel must be 'log' or 'power', not 'sine'"),
        (Fire, {"threshold": 0.0}, "threshold must be above 0, not 0.0"),
    ],
)
def test_what_cannot_be_is_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**SIZES, **options)
