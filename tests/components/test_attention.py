"""Every attention is the paper's function, forward and backward, with every mask and encoding."""

from __future__ import annotations

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

DIM, HEADS, QUERIES, KEYS = 12, 3, 4, 5
MULTI_HEAD = ("naive", "split", "packed", "fused", "torch")
ATTENTIONS = ("single", *MULTI_HEAD)
ENCODINGS = ("none", "rope", "alibi")
PAIRS = [p for p in itertools.product(ATTENTIONS, ENCODINGS) if p != ("torch", "rope")]
MASKS = ("everything", "padding", "causal", "padding+causal")
# Not only at the end: one real token follows a padded one.
REAL = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0]], dtype=torch.bool)


@dataclass
class Call:
    """The arguments of one call, and what the formula needs to repeat it."""

    x: Tensor
    context: Tensor | None
    tokens: Tokens
    context_tokens: Tokens | None
    causal: bool
    allowed: list[list[list[bool]]]

    @property
    def leaves(self) -> list[Tensor]:
        return [self.x] if self.context is None else [self.x, self.context]

    @property
    def keys(self) -> Tokens:
        return self.tokens if self.context_tokens is None else self.context_tokens

    def output(self, module: Attention, position: PositionalEncoding) -> Tensor:
        return module(self.x, self.layer(position))

    def attention_map(self, module: nn.Module, position: PositionalEncoding) -> Tensor:
        return module.weights(self.x, self.layer(position))

    def by_formula(self, module: Attention, encoding: str) -> tuple[Tensor, Tensor]:
        return attention(
            self.x,
            self.x if self.context is None else self.context,
            canonical(module),
            module.heads,
            encoding,
            self.allowed,
            self.tokens.positions.tolist(),
            self.keys.positions.tolist(),
        )

    def layer(self, position: PositionalEncoding) -> LayerContext:
        return LayerContext(
            self.tokens,
            position,
            causal=self.causal,
            context=self.context,
            context_tokens=self.context_tokens,
        )


def make_call(mask: str, cross: bool, seed: int = 1) -> Call:
    """Self-attention over five tokens, or four queries at other positions than five keys."""
    attention_mask, causal = REAL if "padding" in mask else None, "causal" in mask
    keys = Tokens(attention_mask, torch.arange(KEYS))
    q_at = [1, 3, 4, 2] if cross else list(range(KEYS))
    allowed = [
        [
            [
                (attention_mask is None or bool(attention_mask[b, j]))
                and (not causal or j <= q_at[i])
                for j in range(KEYS)
            ]
            for i in range(len(q_at))
        ]
        for b in range(2)
    ]
    if not cross:
        return Call(randoms(2, KEYS, DIM, seed=seed), None, keys, None, causal, allowed)
    x, context = randoms(2, QUERIES, DIM, seed=seed), randoms(2, KEYS, DIM, seed=seed + 1)
    return Call(x, context, Tokens(None, torch.tensor(q_at)), keys, causal, allowed)


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


@pytest.mark.parametrize(
    ("mask", "cross"),
    [("everything", False), ("padding", True), ("causal", False), ("padding+causal", True)],
)
@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_output_gradients_and_map_are_the_papers_and_rows_sum_to_one(
    registry: Registry, name: str, encoding: str, mask: str, cross: bool
) -> None:
    module, position = build(registry, name, encoding)
    shake(module)
    call = make_call(mask, cross)
    expected, expected_map = call.by_formula(module, encoding)
    leaves = [*call.leaves, *module.parameters()]
    assert_same(call.output(module, position), expected, leaves, tolerance(encoding))

    shown = call.attention_map(module, position)
    assert_same(shown, expected_map, tolerance=tolerance(encoding))
    assert_same(shown.sum(dim=-1), torch.ones(shown.shape[:-1], dtype=torch.float64))
    forbidden = ~torch.tensor(call.allowed)[:, None].expand_as(shown)
    assert shown[forbidden].eq(0).all()


@pytest.mark.parametrize("cross", [False, True], ids=["self", "cross"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", MULTI_HEAD)
def test_agrees_with_torchs_own_attention_of_the_same_weights(
    registry: Registry, name: str, mask: str, cross: bool
) -> None:
    module, position = build(registry, name, "none")
    shake(module)
    call, weights = make_call(mask, cross), canonical(module)
    context = call.x if call.context is None else call.context
    expected, _ = nn.functional.multi_head_attention_forward(
        *(one.transpose(0, 1) for one in (call.x, context, context)),
        DIM,
        HEADS,
        torch.cat([weights["wq"], weights["wk"], weights["wv"]]),
        torch.cat([weights["bq"], weights["bk"], weights["bv"]]),
        None,
        None,
        False,
        0.0,
        weights["wo"],
        weights["bo"],
        key_padding_mask=None if call.keys.attention_mask is None else ~call.keys.attention_mask,
        attn_mask=~torch.tensor(
            [
                [not call.causal or int(k) <= int(q) for k in call.keys.positions]
                for q in call.tokens.positions
            ]
        ),
    )
    leaves = [*call.leaves, *module.parameters()]
    assert_same(call.output(module, position), expected.transpose(0, 1), leaves)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("heads", [1, HEADS])
def test_all_exact_attentions_are_one_function_for_one_seed(
    registry: Registry, encoding: str, mask: str, heads: int
) -> None:
    exact = [
        c.name
        for c in registry.components("attention")
        if c.can("exact") and (heads == 1 or not c.can("one-head"))
    ]
    assert len(exact) == (6 if heads == 1 else 5)
    call, outcomes = make_call(mask, cross=False), {}
    for name in exact:
        if (name, encoding) == ("torch", "rope"):
            continue
        module, position = build(registry, name, encoding, heads=heads)
        out = call.output(module.double(), position)
        gradients = torch.autograd.grad(out.square().sum(), [call.x, *module.parameters()])
        start = [one.detach().clone() for one in canonical(module).values()]
        # In the canonical layout, the parameters' gradients are those of the eight weights.
        with torch.no_grad():
            for parameter, gradient in zip(module.parameters(), gradients[1:], strict=True):
                parameter.copy_(gradient)
            outcomes[name] = [out, gradients[0], *start, *canonical(module).values()]
    first = outcomes.pop("naive")
    for other in outcomes.values():
        for ours, theirs in zip(other, first, strict=True):
            assert_same(ours, theirs, tolerance=1e-12)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_starts_from_xavier_matrices_and_zero_biases_drawn_in_one_order(
    registry: Registry, name: str
) -> None:
    module, _ = build(registry, name, "none")
    torch.manual_seed(0)
    for key in ("wq", "wk", "wv", "wo"):
        expected = nn.init.xavier_uniform_(torch.empty(DIM, DIM))
        assert torch.equal(canonical(module)[key], expected)
    for key in ("bq", "bk", "bv", "bo"):
        assert canonical(module)[key].eq(0).all()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_a_fully_padded_text_gives_finite_output_and_changes_no_other(
    registry: Registry, name: str, encoding: str, causal: bool
) -> None:
    module, position = build(registry, name, encoding)
    shake(module)
    x = randoms(2, KEYS, DIM)
    attention_mask = REAL.clone()
    attention_mask[1] = False
    tokens = Tokens(attention_mask, torch.arange(KEYS))
    out = module(x, LayerContext(tokens, position, causal=causal))
    gradients = torch.autograd.grad(out.square().sum(), [x, *module.parameters()])
    assert all(one.isfinite().all() for one in (out, *gradients))
    alone = module(
        x[:1], LayerContext(Tokens(attention_mask[:1], torch.arange(KEYS)), position, causal=causal)
    )
    assert_same(out[:1], alone)


@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_padding_in_front_does_not_change_later_tokens(
    registry: Registry, name: str, encoding: str
) -> None:
    module, position = build(registry, name, encoding)
    shake(module)
    call = make_call("everything", cross=False)
    attention_mask = torch.tensor([[0, 1, 1, 1, 1], [0, 0, 1, 1, 1]], dtype=torch.bool)
    call.tokens, call.causal = Tokens(attention_mask, torch.arange(KEYS)), True
    # From the third token on, every query has a key.
    call.allowed = [
        [[bool(attention_mask[b, j]) and j <= i for j in range(KEYS)] for i in range(KEYS)]
        for b in range(2)
    ]
    expected, _ = call.by_formula(module, encoding)
    out = call.output(module, position)
    assert out.isfinite().all()
    assert_same(out[:, 2:], expected[:, 2:], tolerance=tolerance(encoding))


@pytest.mark.parametrize("mask", ["everything", "padding+causal"])
@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_positions_per_text_equal_shared_positions(
    registry: Registry, name: str, encoding: str, mask: str
) -> None:
    module, position = build(registry, name, encoding)
    shake(module)
    call = make_call(mask, cross=True)
    shared = call.output(module, position)
    assert call.context_tokens is not None
    call.tokens = Tokens(None, call.tokens.positions.repeat(2, 1))
    call.context_tokens = Tokens(
        call.context_tokens.attention_mask, call.context_tokens.positions.repeat(2, 1)
    )
    assert_same(call.output(module, position), shared)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_each_text_follows_its_own_positions(registry: Registry, name: str) -> None:
    module, position = build(registry, name, "alibi" if name == "torch" else "rope")
    shake(module)
    x = randoms(2, 4, DIM)
    positions = torch.tensor([[0, 1, 2, 3], [5, 9, 2, 7]])
    both = module(x, LayerContext(Tokens(None, positions), position, causal=True))
    for b in range(2):
        one = module(x[b : b + 1], LayerContext(Tokens(None, positions[b]), position, causal=True))
        assert_same(both[b : b + 1], one)


class GrowingCache:
    """The simplest cache: everything so far, concatenated."""

    def __init__(self) -> None:
        self.k, self.v = torch.empty(0), torch.empty(0)
        self.positions = torch.empty(0, dtype=torch.long)

    def extend(self, k: Tensor, v: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor, Tokens]:
        first = len(self.positions) == 0
        self.k = k if first else torch.cat([self.k, k], dim=2)
        self.v = v if first else torch.cat([self.v, v], dim=2)
        self.positions = torch.cat([self.positions, tokens.positions])
        return self.k, self.v, Tokens(None, self.positions)


@pytest.mark.parametrize(("name", "encoding"), [p for p in PAIRS if p[0] != "torch"])
def test_decoding_step_by_step_with_a_cache_equals_one_causal_pass(
    registry: Registry, name: str, encoding: str
) -> None:
    assert registry.get("attention", name).can("cache")
    module, position = build(registry, name, encoding)
    shake(module)
    x, cache = randoms(2, KEYS, DIM), GrowingCache()
    whole = module(x, LayerContext(Tokens.whole(KEYS), position, causal=True))
    steps = []
    for rows in (slice(0, 2), slice(2, 3), slice(3, KEYS)):
        tokens = Tokens(None, torch.arange(KEYS)[rows])
        steps.append(module(x[:, rows], LayerContext(tokens, position, causal=True, cache=cache)))
    assert_same(torch.cat(steps, dim=1), whole)


def test_torchs_attention_refuses_a_cache(registry: Registry) -> None:
    module, position = build(registry, "torch", "none")
    with pytest.raises(ValueError, match="'torch' keeps no cache"):
        module(torch.ones(1, 2, DIM), LayerContext(Tokens.whole(2), position, cache=GrowingCache()))
    assert not registry.get("attention", "torch").can("cache")


@pytest.mark.parametrize("name", ATTENTIONS)
def test_dropout_acts_in_training_only_and_leaves_the_mean(registry: Registry, name: str) -> None:
    dropping, position = build(registry, name, "none", dropout=0.5)
    still, _ = build(registry, name, "none")
    x, tokens = randoms(1, 5, DIM).detach().float(), Tokens.whole(5)
    expected = still.eval()(x, LayerContext(tokens, position))
    assert torch.equal(dropping.eval()(x, LayerContext(tokens, position)), expected)
    assert_same(still.train()(x, LayerContext(tokens, position)), expected, tolerance=1e-6)
    dropping.train()
    with torch.no_grad():
        many = dropping(x.expand(2000, -1, -1), LayerContext(tokens, position))
    assert many.std(dim=0).max() > 0.1
    error = (many.mean(dim=0) - expected[0]).abs() / (many.std(dim=0) / 2000**0.5)
    assert error.max() < 5


@pytest.mark.parametrize("name", MULTI_HEAD)
@pytest.mark.parametrize("heads", [5, 0, -1])
def test_a_width_that_does_not_divide_into_heads_is_refused(
    registry: Registry, name: str, heads: int
) -> None:
    with pytest.raises(ValueError, match=f"width 12 does not divide into {heads} heads"):
        registry.choose("attention", name).build(DIM, heads)


@pytest.mark.parametrize("heads", [1, 3, 5])
def test_single_has_one_head_whatever_is_asked_for(registry: Registry, heads: int) -> None:
    module, _ = build(registry, "single", "none", heads=heads)
    assert (module.heads, module.head_dim) == (1, DIM)


def test_heads_differ_under_a_bias_of_their_own(registry: Registry) -> None:
    maps = {}
    for name in MULTI_HEAD:
        module, position = build(registry, name, "alibi")
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.zero_()
        maps[name] = make_call("everything", cross=False).attention_map(module.double(), position)
        # With equal scores the map is that of the bias: a steeper slope attends to nearer keys.
        own = maps[name].diagonal(dim1=-2, dim2=-1).mean(dim=(0, 2))
        assert own[2] > own[0] > own[1]
