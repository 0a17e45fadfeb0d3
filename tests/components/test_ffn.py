"""Each feed-forward network is its formula, forward and backward, at the stated size."""

import math

import pytest
import torch
from references import assert_same, randoms, shake
from torch import Tensor, nn

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.registry import Registry

DIM, HIDDEN = 4, 6
PLAIN = ("relu", "gelu", "gelu-tanh")
ALL = (*PLAIN, "swiglu")
LAYER = LayerContext(Tokens.whole(1))


def build(
    registry: Registry, text: str, dim: int = DIM, hidden: int = HIDDEN, dropout: float = 0.0
) -> nn.Module:
    torch.manual_seed(0)
    return registry.choose("ffn", text).build(dim, hidden, dropout)


def activation(name: str, x: Tensor) -> Tensor:
    """The papers' formulas for one number."""
    if name == "relu":
        return x if x > 0 else 0 * x
    if name == "gelu":
        return x * (1 + torch.erf(x / math.sqrt(2))) / 2
    if name == "gelu-tanh":
        return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / (1 + torch.exp(-x))  # SiLU


def by_loops(name: str, ffn: nn.Module, row: Tensor) -> Tensor:
    """W2 · activation(W1 x + b1) + b2, or W2 (SiLU(W x) ⊙ V x), number by number."""
    if name == "swiglu":
        gate, value = ffn.gate_and_value.weight.chunk(2)
        inner = [activation(name, w @ row) * (v @ row) for w, v in zip(gate, value, strict=True)]
        return torch.stack([sum(w * a for w, a in zip(ws, inner, strict=True))
                            for ws in ffn.outer.weight])  # fmt: skip
    inner = [
        activation(name, w @ row + b) for w, b in zip(ffn.inner.weight, ffn.inner.bias, strict=True)
    ]
    return torch.stack(
        [
            sum(w * a for w, a in zip(ws, inner, strict=True)) + b
            for ws, b in zip(ffn.outer.weight, ffn.outer.bias, strict=True)
        ]
    )


@pytest.mark.parametrize("name", ALL)
def test_output_and_gradients_are_the_formulas(registry, name):
    ffn, x = shake(build(registry, name)), randoms(2, 3, DIM)
    assert name == "swiglu" or ffn.inner.weight.shape == (HIDDEN, DIM)
    expected = torch.stack([by_loops(name, ffn, row) for row in x.flatten(0, 1)]).view_as(x)
    assert_same(ffn(x, LAYER), expected, [x, *ffn.parameters()])


def test_swiglu_unmatched_takes_the_hidden_width_as_it_is(registry):
    unmatched = build(registry, "swiglu(matched=False)", 8, 12)
    assert sum(p.numel() for p in unmatched.parameters()) == 3 * 8 * 12
    assert build(registry, "swiglu(matched=True)", 8, 12).outer.weight.shape == (8, 8)


@pytest.mark.parametrize("hidden", [1, 2])
def test_the_smallest_swiglu_still_computes(registry, hidden):
    ffn = build(registry, "swiglu", 4, hidden)
    assert ffn(torch.ones(1, 4), LAYER).abs().max() > 0


def test_none_is_no_sublayer_at_all(registry):
    assert build(registry, "none") is None
