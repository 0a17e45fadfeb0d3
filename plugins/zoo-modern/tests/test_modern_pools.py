"""Pools equal their formulas, text by text, over the real tokens alone."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from block_helpers import assert_same, randoms, registry
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.registry.cell import Cell

DIM = 3
MASK = torch.tensor([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 1, 1], [1, 0, 0, 0]], dtype=torch.bool)


def build(name: str) -> Any:
    torch.manual_seed(0)
    return registry().choose("pool", name).build(DIM).double()


def attention_by_loops(pool: Any, text: list[Tensor]) -> Tensor:
    """Yang et al. 2016, equations 5 to 7; Lin et al. 2017, equations 6 and 7, row by row."""
    means = []
    for query in pool.score.weight:
        weights = []
        for vector in text:
            inner = pool.inner.weight @ vector
            inner = inner if pool.inner.bias is None else inner + pool.inner.bias
            weights.append((query * inner.tanh()).sum().exp())
        means.append(sum(w * v for w, v in zip(weights, text, strict=True)) / sum(weights))
    return torch.cat(means)


def max_by_torch(pool: Any, text: list[Tensor]) -> Tensor:
    return F.adaptive_max_pool1d(torch.stack(text).T[None], 1)[0, :, 0]


def last_by_list(pool: Any, text: list[Tensor]) -> Tensor:
    return text[-1]


REFERENCES = {
    "attention": attention_by_loops,
    "multi-query": attention_by_loops,
    "multi-query(queries=2, hidden=5)": attention_by_loops,
    "max": max_by_torch,
    "last": last_by_list,
}


@pytest.mark.parametrize("attention_mask", [None, MASK], ids=["whole", "padded"])
@pytest.mark.parametrize("name", REFERENCES)
def test_a_pool_is_its_formula(name: str, attention_mask: Tensor | None) -> None:
    pool, x = build(name), randoms(4, 4, DIM)
    real = torch.ones_like(MASK) if attention_mask is None else attention_mask
    expected = torch.stack([REFERENCES[name](pool, list(x[b, real[b]])) for b in range(4)])
    assert_same(pool(x, attention_mask), expected, [x, *pool.parameters()])


@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", REFERENCES)
def test_padding_may_hold_anything(name: str, garbage: float) -> None:
    pool, x = build(name), randoms(4, 4, DIM)
    dirty = x.detach().masked_fill(~MASK[..., None], garbage).requires_grad_()
    assert torch.equal(pool(dirty, MASK), pool(x, MASK))
    (gradient,) = torch.autograd.grad(pool(dirty, MASK).square().sum(), dirty)
    assert gradient.isfinite().all()
    assert gradient[~MASK].eq(0).all()


@pytest.mark.parametrize("name", REFERENCES)
def test_a_text_without_real_tokens_gives_zeros(name: str) -> None:
    pool, x = build(name), randoms(2, 4, DIM)
    out = pool(x, torch.tensor([[False] * 4, [True] * 4]))
    assert out[0].eq(0).all()
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert gradient[0].eq(0).all()


def test_several_queries_are_as_wide_as_they_are_many() -> None:
    assert build("multi-query").width == 4 * DIM
    assert build("multi-query(queries=7)")(randoms(2, 4, DIM), None).shape == (2, 7 * DIM)
    assert build("attention").width is None


@pytest.mark.parametrize("parameters", ["queries=0", "hidden=0"])
def test_nothing_to_attend_with_is_refused(parameters: str) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        build(f"multi-query({parameters})")


def test_a_text_classifier_with_a_wider_pool_has_a_wider_head() -> None:
    from zoo.config.sizes import Sizes
    from zoo.models.build import build_classifier
    from zoo.registry.cell import Cell

    names = "attention=fused pe=sin norm=layer ffn=relu block=pre pool=multi-query"
    cell = Cell.parse(registry(), dict(pair.split("=") for pair in names.split()))
    sizes = Sizes(dim=16, heads=2, layers=1)
    model = build_classifier(cell, sizes, vocab_size=9, classes=3, seed=0)
    assert model.head[-1].in_features == 4 * 16


@pytest.mark.parametrize("pool", registry().labels("pool"))
def test_padding_may_stand_on_any_side_with_every_encoding(pool: str) -> None:
    """Behind the text, before it, on both sides and inside of it, it changes nothing."""
    ids = torch.randint(1, 30, (1, 4), generator=torch.Generator().manual_seed(0))
    places = torch.tensor([[0, 1, 2, 3], [3, 4, 5, 6], [1, 2, 3, 4], [0, 2, 3, 6]])
    padded = torch.full((4, 7), 9).scatter(1, places, ids.expand(4, -1))
    tokens = Tokens.of(torch.zeros(4, 7, dtype=torch.long).scatter(1, places, 1))
    sizes = Sizes(dim=8, layers=1, heads=2, ffn_dim=8, max_length=8)
    for pe in registry().labels("pe"):
        names = {"attention": "fused", "pe": pe, "norm": "layer", "ffn": "none", "block": "pre"}
        cell = Cell.parse(registry(), {**names, "pool": pool})
        model = build_classifier(cell, sizes, vocab_size=30, classes=3, seed=0).eval()
        alone, found = model(ids, Tokens.whole(4)), model(padded, tokens)
        torch.testing.assert_close(found, alone.expand(4, -1), rtol=0, atol=1e-5, msg=pe)
