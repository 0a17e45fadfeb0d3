"""An attention refuses a call that needs what its registration does not declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.components.attention.base import Attention, ProjectedAttention
from zoo.components.attention.projections import Packed
from zoo.components.attention.split import Split
from zoo.components.layer_context import LayerContext
from zoo.components.pe.alibi import Alibi
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pe.rope import Rotary
from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import KeyValues
from zoo.registry import Choice, Owner, Register

DIM, HEADS, LENGTH = 8, 2, 5
SIZES = {"dim": DIM, "heads": HEADS, "head_dim": DIM // HEADS, "max_length": 16}
X = torch.randn(2, LENGTH, DIM, generator=torch.Generator().manual_seed(0))
WHOLE = Tokens.whole(LENGTH)
PADDED = Tokens(torch.arange(LENGTH) < torch.tensor([[5], [3]]), torch.arange(LENGTH))
EVERYTHING = ("rotate", "bias", "content-bias", "padding", "causal", "cross", "cache")


class Mean(ProjectedAttention):
    """The mean of all values: it uses nothing that it is given besides them."""

    projection = Packed

    def mix(self, q, k, v, layer):
        return v.mean(dim=2, keepdim=True).expand(q.shape)


class Own(Attention):
    """Its forward is its own, and asks what may be refused."""

    def __init__(self, dim, heads, *, dropout=0.0):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads

    def forward(self, x, layer):
        self.refuse_undeclared(x, layer)
        return x


class Products(PositionalEncoding):
    """An encoding whose bias is made of the queries and keys."""

    def content_bias(self, q, k, q_positions, k_positions, mask):
        return q @ k.transpose(-2, -1)


NEEDS: dict[str, Callable[[], dict[str, Any]]] = {
    "rotate": lambda: {"position": Rotary(**SIZES)},
    "bias": lambda: {"position": Alibi(**SIZES)},
    "content-bias": lambda: {"position": Products(**SIZES)},
    "padding": lambda: {"tokens": PADDED},
    "causal": lambda: {"causal": True},
    "cross": lambda: {"context": X + 1, "context_tokens": WHOLE},
    "cache": lambda: {"cache": KeyValues()},
}


def built(factory: Callable[..., Attention], *capabilities: str) -> Attention:
    """An attention as it is built where these capabilities are registered."""
    register = Register(Owner("mine.py", "0"))
    register("attention", "mine", factory, summary="of a test", capabilities=capabilities)
    made: Attention = Choice(register.components[0], "mine").build(DIM, HEADS)
    return made.eval()


def call(attention: Attention, **how: Any) -> torch.Tensor:
    out: torch.Tensor = attention(X, LayerContext(**{"tokens": WHOLE, **how}))
    return out


@pytest.mark.parametrize("needed", NEEDS)
@pytest.mark.parametrize("factory", [Split, Mean, Own])
def test_it_refuses_what_it_does_not_declare_and_takes_what_it_does(factory, needed):
    others = [capability for capability in EVERYTHING if capability != needed]

    with pytest.raises(ValueError, match=f"does not declare '{needed}'"):
        call(built(factory, *others), **NEEDS[needed]())
    assert call(built(factory, needed), **NEEDS[needed]()).shape == X.shape
    assert call(built(factory)).shape == X.shape


def test_what_is_causal_only_refuses_a_call_that_is_not_causal():
    attention = built(Split, "causal", "causal-only")

    assert call(attention, causal=True).shape == X.shape
    with pytest.raises(ValueError, match="declares 'causal-only', and the call is not causal"):
        call(attention)


@pytest.mark.parametrize("needed", NEEDS)
def test_built_by_its_class_alone_it_takes_every_call(needed):
    assert call(Split(DIM, HEADS), **NEEDS[needed]()).shape == X.shape


@pytest.mark.parametrize(
    ("needed", "message"),
    [
        ("rotate", "does not declare 'rotate'"),
        ("content-bias", "does not declare 'content-bias'"),
        ("cache", "'torch' keeps no cache"),
    ],
)
def test_torchs_own_attention_refuses_what_it_has_no_place_for(registry, needed, message):
    attention = registry.choose("attention", "torch").build(DIM, HEADS)

    assert call(attention, **NEEDS["bias"](), causal=True).shape == X.shape
    with pytest.raises(ValueError, match=message):
        call(attention, **NEEDS[needed]())
