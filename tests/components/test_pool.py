"""Pools read real tokens only."""

import pytest
import torch
from references import assert_same, randoms
from torch import Tensor

from zoo.components.pool.base import Pool
from zoo.registry import Registry

MASK = torch.tensor([[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 0]], dtype=torch.bool)


def build(registry: Registry, name: str) -> Pool:
    return registry.choose("pool", name).build(3)


def mean_by_loops(x: Tensor, attention_mask: Tensor | None) -> Tensor:
    rows = []
    for b in range(len(x)):
        real = [
            x[b, i] for i in range(x.shape[1]) if attention_mask is None or attention_mask[b, i]
        ]
        rows.append(sum(real) / len(real))
    return torch.stack(rows)


@pytest.mark.parametrize("attention_mask", [None, MASK], ids=["whole", "padded"])
def test_mean_is_over_real_tokens_only(registry, attention_mask):
    pool, x = build(registry, "mean"), randoms(3, 4, 3)
    assert_same(pool(x, attention_mask), mean_by_loops(x, attention_mask), [x])
    assert pool.reads is None
    assert not registry.get("pool", "mean").can("first")


@pytest.mark.parametrize("attention_mask", [None, MASK], ids=["whole", "padded"])
def test_cls_is_the_first_real_token(registry, attention_mask):
    pool, x = build(registry, "cls"), randoms(3, 4, 3)
    first = [0, 1, 0] if attention_mask is not None else [0, 0, 0]
    expected = torch.stack([x[b][first[b]] for b in range(3)])
    assert_same(pool(x, attention_mask), expected, [x])
    assert pool.reads is not None
    assert torch.equal(pool(x[:, pool.reads], None), x[:, 0])
    assert registry.get("pool", "cls").can("first")


def test_the_mean_of_an_empty_text_is_zero_and_has_a_gradient_of_zero(registry):
    x = randoms(2, 4, 3)
    attention_mask = torch.tensor([[False] * 4, [True] * 4])
    out = build(registry, "mean")(x, attention_mask)
    assert out[0].tolist() == [0.0, 0.0, 0.0]
    (gradient,) = torch.autograd.grad(out.sum(), [x])
    assert gradient[0].eq(0).all()
    assert gradient[1].eq(0.25).all()
