"""Every attention is the paper's function, forward and backward, with every mask and encoding.

Padding alone, dropout and caches are checked as of every attention: tests/conformance.
"""

import itertools
from dataclasses import dataclass

import pytest
import torch
from references import assert_same, attention, canonical, randoms, shake
from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.registry import Registry

DIM, HEADS, KEYS = 12, 3, 5
MULTI_HEAD = ("naive", "split", "packed", "fused", "torch")
ATTENTIONS = ("single", *MULTI_HEAD)
ENCODINGS = ("none", "rope", "alibi")
PAIRS = [p for p in itertools.product(ATTENTIONS, ENCODINGS) if p != ("torch", "rope")]
CALLS = pytest.mark.parametrize(
    ("mask", "cross"),
    [("everything", False), ("padding", True), ("causal", False), ("padding+causal", True)],
)
# Not only at the end: one real token follows a padded one.
REAL = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0]], dtype=torch.bool)


@dataclass
class Call:
    """The arguments of one call; allowed (B, Lq, Lk): what each query may attend to."""

    x: Tensor
    context: Tensor | None
    tokens: Tokens
    keys: Tokens
    causal: bool
    allowed: Tensor

    @property
    def leaves(self) -> list[Tensor]:
        return [self.x] if self.context is None else [self.x, self.context]

    def by_formula(self, module: Attention, encoding: str) -> tuple[Tensor, Tensor]:
        positions = self.tokens.positions.tolist(), self.keys.positions.tolist()
        context, allowed = self.leaves[-1], self.allowed.tolist()
        weights, heads = canonical(module), module.heads
        return attention(self.x, context, weights, heads, encoding, allowed, *positions)

    def layer(self, position: PositionalEncoding) -> LayerContext:
        other = {} if self.context is None else {"context": self.context}
        other |= {"context_tokens": self.keys} if other else {}
        return LayerContext(self.tokens, position, causal=self.causal, **other)


def make_call(mask: str, cross: bool) -> Call:
    """Self-attention over five tokens, or four queries at other positions than five keys."""
    padded, causal = "padding" in mask, "causal" in mask
    keys = Tokens(REAL if padded else None, torch.arange(KEYS))
    tokens = Tokens(None, torch.tensor([1, 3, 4, 2])) if cross else keys
    allowed = (REAL[:, None] | (not padded)).expand(2, len(tokens.positions), KEYS)
    allowed = allowed & ((keys.positions <= tokens.positions[:, None]) | (not causal))
    x, context = randoms(2, len(tokens.positions), DIM, seed=1), randoms(2, KEYS, DIM, seed=2)
    return Call(x, context if cross else None, tokens, keys, causal, allowed)


def build(
    registry: Registry, name: str, encoding: str, *, heads: int = HEADS, dropout: float = 0.0
) -> tuple[Attention, PositionalEncoding]:
    torch.manual_seed(0)
    module = registry.choose("attention", name).build(DIM, heads, dropout=dropout)
    position = registry.choose("pe", encoding).build(
        dim=DIM, heads=module.heads, head_dim=module.head_dim, max_length=16
    )
    return module, position.double()


def tolerance(encoding: str) -> float:
    """Rotary frequencies are kept in float32."""
    return 1e-7 if encoding == "rope" else 1e-11


@CALLS
@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_output_gradients_and_map_are_the_papers_and_rows_sum_to_one(
    registry, name, encoding, mask, cross
):
    module, position = build(registry, name, encoding)
    shake(module)
    call = make_call(mask, cross)
    expected, expected_map = call.by_formula(module, encoding)
    leaves = [*call.leaves, *module.parameters()]
    assert_same(module(call.x, call.layer(position)), expected, leaves, tolerance(encoding))

    shown = module.weights(call.x, call.layer(position))
    assert_same(shown, expected_map, tolerance=tolerance(encoding))
    assert_same(shown.sum(dim=-1), torch.ones(shown.shape[:-1], dtype=torch.float64))
    forbidden = ~call.allowed[:, None].expand_as(shown)
    assert shown[forbidden].eq(0).all()


@pytest.mark.parametrize("name", ATTENTIONS)
def test_starts_from_xavier_matrices_and_zero_biases_drawn_in_one_order(registry, name):
    module, _ = build(registry, name, "none")
    torch.manual_seed(0)
    for key in ("wq", "wk", "wv", "wo"):
        expected = nn.init.xavier_uniform_(torch.empty(DIM, DIM))
        assert torch.equal(canonical(module)[key], expected)
    for key in ("bq", "bk", "bv", "bo"):
        assert canonical(module)[key].eq(0).all()


@pytest.mark.parametrize("heads", [5, 0, -1])
def test_a_width_that_does_not_divide_into_heads_is_refused_unless_there_is_but_one(
    registry, heads
):
    for name in MULTI_HEAD:
        with pytest.raises(ValueError, match=f"width 12 does not divide into {heads} heads"):
            registry.choose("attention", name).build(DIM, heads)
    module, _ = build(registry, "single", "none", heads=heads)
    assert (module.heads, module.head_dim) == (1, DIM)
