"""An ensemble is its modules side by side: the same scores, gradients and draws."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import vmap

from zoo.components.tokens import Tokens
from zoo.models.agreement import check_agreement
from zoo.models.classifier import Classifier
from zoo.models.ensemble import Ensemble
from zoo.models.folding import folded
from zoo.models.streams import ApartError, Axis, Streams, dropout_layouts
from zoo.registry import Registry

Assemble = Callable[..., Classifier]

CPU = torch.device("cpu")
AXES = ("attention", "pe", "norm", "ffn", "block", "pool")
SEEDS = (4, 9, 2)
SIZES = [(2, 7), (3, 4), (1, 9)]
quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def texts(size: tuple[int, int], seed: int) -> tuple[Tensor, Tensor]:
    """Ids and padding (B, L); the first text is whole."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, 20, size, generator=generator)
    lengths = torch.randint(1, size[1] + 1, (size[0],), generator=generator)
    lengths[0] = size[1]
    padding = torch.arange(size[1]) < lengths[:, None]
    return ids.masked_fill(~padding, 0), padding


def assert_equals_its_modules(models: list[Classifier], rtol: float = 1e-9) -> None:
    """Scores and gradients of a training step on batches of unlike sizes."""
    ensemble = Ensemble(copy.deepcopy(models), Streams(SEEDS, CPU), max_length=16)
    batches = [texts(size, number) for number, size in enumerate(SIZES)]
    ids, padding = torch.zeros(2, 3, 3, 9, dtype=torch.long)
    for number, (own, real) in enumerate(batches):
        ids[number, : len(own), : own.shape[1]] = own
        padding[number, : len(own), : own.shape[1]] = real
    together = ensemble(ids, padding.bool(), SIZES)
    together = [scores[: size[0]] for scores, size in zip(together, SIZES, strict=True)]
    sum(scores.square().sum() for scores in together).backward()
    for number, (model, seed) in enumerate(zip(models, SEEDS, strict=True)):
        torch.manual_seed(seed)
        own, real = batches[number]
        alone = model.train()(own, Tokens(real, torch.arange(own.shape[1])))
        alone.square().sum().backward()
        torch.testing.assert_close(together[number], alone, rtol=rtol, atol=1e-10)
        for name, parameter in model.named_parameters():
            stack = ensemble.parameters[name].grad
            if parameter.grad is None:
                assert stack is None
            else:
                torch.testing.assert_close(stack[number], parameter.grad, rtol=rtol, atol=1e-10)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("axis", AXES)
def test_an_ensemble_of_every_registered_component_equals_its_modules(
    assemble: Assemble, registry: Registry, axis: str, dropout: float
) -> None:
    for name in registry.labels(axis):
        choice = {"attention": name, "pe": "none"} if axis == "attention" else {axis: name}
        drop = {"dropout": dropout, "attention_dropout": dropout}
        assert_equals_its_modules([assemble(seed, **choice, **drop).double() for seed in range(3)])


@pytest.mark.parametrize("read_last", [True, False])
def test_reading_the_last_layer_in_part_makes_no_difference(
    assemble: Assemble, read_last: bool
) -> None:
    options: dict[str, Any] = {"pool": "cls", "read_last": read_last, "dropout": 0.2}
    assert_equals_its_modules([assemble(seed, **options).double() for seed in range(3)])


@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("attention", ["fused", "naive"])
def test_under_autocast_the_two_differ_by_its_rounding_alone(
    assemble: Assemble, attention: str, norm: str
) -> None:
    check_agreement(
        [assemble(seed, attention=attention, norm=norm, dropout=0.1) for seed in range(3)],
        seeds=SEEDS,
        vocab_size=20,
        max_length=16,
        device=CPU,
        autocast=lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        tolerance=1e-2,  # a bfloat16 has 8 bits: one rounding is up to 4e-3
    )


def test_a_member_has_the_weights_that_its_row_of_the_stacks_has(assemble: Assemble) -> None:
    ensemble = Ensemble([assemble(seed) for seed in range(3)], Streams(SEEDS, CPU), 16)
    with torch.no_grad():
        for stack in ensemble.parameters.values():
            stack.add_(torch.arange(3.0).view(-1, *[1] * (stack.dim() - 1)))
    for number, seed in enumerate(range(3)):
        fresh = assemble(seed)
        for name, parameter in ensemble.member(number).named_parameters():
            torch.testing.assert_close(parameter, fresh.get_parameter(name) + number)


@pytest.mark.parametrize("kernel", ["forward", "backward"])
def test_attention_is_one_kernel_for_all_members(assemble: Assemble, kernel: str) -> None:
    ensemble = Ensemble([assemble(seed) for seed in range(3)], Streams(SEEDS, CPU), 16)
    ids = torch.ones(3, 2, 6, dtype=torch.long)
    padding = torch.arange(6).expand(3, 2, 6) < 4
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as trace:
        ensemble(ids, padding).sum().backward()
    ending = "_for_cpu" + ("_backward" if kernel == "backward" else "")
    calls = [
        event.count
        for event in trace.key_averages()
        if event.key == f"aten::_scaled_dot_product_flash_attention{ending}"
    ]
    assert calls == [2]  # layers


def qkv(batch: int, heads: int, queries: int, keys: int, groups: int) -> list[Tensor]:
    torch.manual_seed(batch + 10 * heads + queries * keys)
    shapes = [(heads * groups, queries), (heads, keys), (heads, keys)]
    return [
        torch.randn(3, batch, h, n, 4, dtype=torch.float64, requires_grad=True) for h, n in shapes
    ]


@quick
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 2),
    st.sampled_from(["none", "bool", "bias", "shared", "causal"]),
    st.sampled_from(["text", "head", "pair"]),
    st.sampled_from([0.0, 0.4]),
)
def test_folded_attention_is_attention_member_by_member(
    batch: int,
    heads: int,
    queries: int,
    keys: int,
    groups: int,
    kind: str,
    broadcast: str,
    dropout: float,
) -> None:
    tensors = qkv(batch, heads, queries, keys, groups)
    shape = {
        "text": (batch, 1, 1, keys),
        "head": (heads * groups, queries, keys),
        "pair": (queries, keys),
    }[broadcast]
    mask = None
    if kind == "bool":
        mask = torch.rand(3, *shape) < 0.6
        mask[..., 0] = True
    elif kind in ("bias", "shared"):
        mask = torch.randn(*([3] if kind == "bias" else []), *shape, dtype=torch.float64)
    options = {"is_causal": kind == "causal", "enable_gqa": groups > 1}
    per_member = None if mask is None or kind == "shared" else 0

    def drop(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        return x * (1 - p)  # what stands for dropout: the same for each, to compare by

    def one(member: Tensor, q: Tensor, k: Tensor, v: Tensor, m: Tensor | None) -> Tensor:
        with folded(member, drop, drop):
            return F.scaled_dot_product_attention(
                q, k, v, attn_mask=m, dropout_p=dropout, **options
            )

    found = vmap(one, in_dims=(0, 0, 0, 0, per_member))(torch.arange(3), *tensors, mask)
    expected = torch.stack(
        [
            F.scaled_dot_product_attention(
                *(x[s] for x in tensors),
                attn_mask=mask[s] if per_member == 0 and mask is not None else mask,
                **options,
            )
            * (1 - dropout)
            for s in range(3)
        ]
    )
    torch.testing.assert_close(found, expected)
    upstream = torch.randn(expected.shape, dtype=torch.float64)
    for ours, theirs in zip(
        torch.autograd.grad(found, tensors, upstream),
        torch.autograd.grad(expected, tensors, upstream),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_torchs_functions_are_its_own_again_after_a_call_and_after_a_failure(
    assemble: Assemble,
) -> None:
    names = ("linear", "layer_norm", "dropout", "scaled_dot_product_attention")
    before = [getattr(F, name) for name in names]
    ensemble = Ensemble([assemble(seed) for seed in range(2)], Streams(SEEDS[:2], CPU), 16)
    ensemble(torch.ones(2, 1, 3, dtype=torch.long), None)
    with pytest.raises(IndexError):
        ensemble(torch.full((2, 1, 3), 99), None)
    assert [getattr(F, name) for name in names] == before


def test_running_together_leaves_torchs_own_random_state_alone(assemble: Assemble) -> None:
    models = [assemble(seed, dropout=0.5) for seed in range(2)]
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    ensemble = Ensemble(models, Streams(SEEDS[:2], CPU), 16)
    ensemble(torch.ones(2, 1, 3, dtype=torch.long), None)
    assert torch.equal(torch.rand(3), expected)


def test_what_is_dropped_from_is_known_by_texts_and_tokens(assemble: Assemble) -> None:
    model = assemble(dropout=0.1, attention_dropout=0.1, layers=1, attention="torch", pe="none")
    text, token = Axis("text", 1), Axis("token", 1)
    layouts = dropout_layouts(model, 16, CPU)
    assert [layout.axes for layout in layouts] == [
        (text, token, Axis("tensor", 8)),  # embeddings
        (text, Axis("tensor", 2), token, token),  # attention weights
        (text, token, Axis("tensor", 8)),
        (text, token, Axis("tensor", 12)),
        (text, token, Axis("tensor", 8)),
        (text, Axis("tensor", 8)),  # before the head
    ]
    # torch's module hands on a view of (L, B, D); the zoo's dropout draws by its order alone.
    assert [layout.order for layout in layouts][2] == (0, 1, 2)
    # torch's own fills memory in the order that it has there.
    assert [layout.order for layout in dropout_layouts(Turned(0), 16, CPU)] == [(1, 0, 2)]


class Odd(nn.Module):
    """A classifier of texts with one thing about it."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding, self.head = nn.Embedding(20, 4), nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(()))
        self.loose = torch.randn(3)

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        assert tokens.padding is not None
        real = tokens.padding[..., None]
        x = (self.odd(self.embedding(ids)) * real).sum(dim=1) / real.sum(dim=1).clamp_min(1)
        return self.head(x)

    def odd(self, x: Tensor) -> Tensor:
        return x


class Branches(Odd):
    def odd(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class Draws(Odd):
    def odd(self, x: Tensor) -> Tensor:
        return x + torch.randn(x.shape, dtype=x.dtype)


class FlatDropout(Odd):
    def odd(self, x: Tensor) -> Tensor:
        return F.dropout(x.flatten(0, 1), 0.5, self.training).view(x.shape)


class Turned(Odd):
    def odd(self, x: Tensor) -> Tensor:
        return F.dropout(x.transpose(0, 1).contiguous().transpose(0, 1), 0.5, self.training)


class InPlace(Odd):
    def odd(self, x: Tensor) -> Tensor:
        return F.dropout(x * 1, 0.5, self.training, inplace=True)


class Reassigns(Odd):
    def odd(self, x: Tensor) -> Tensor:
        self.seen = self.seen + 1
        return x


class Loose(Odd):
    def odd(self, x: Tensor) -> Tensor:
        return x + self.loose.sum()


class AcrossTexts(Odd):
    def odd(self, x: Tensor) -> Tensor:
        return x - x.mean(dim=(0, 1))


class Counts(Odd):
    def odd(self, x: Tensor) -> Tensor:
        self.seen.add_(1)
        return F.dropout(x, 0.5, self.training)


def check(kind: Callable[[int], nn.Module]) -> None:
    check_agreement(
        [kind(seed).double() for seed in range(3)],
        seeds=SEEDS,
        vocab_size=20,
        max_length=16,
        device=CPU,
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Branches, "cannot be vmapped: .*data-dependent control flow"),
        (Draws, "cannot be vmapped: .*random"),
        (FlatDropout, "follows neither the texts nor the tokens"),
        (InPlace, "in place"),
        (Reassigns, "buffer 'seen'"),
        (Loose, "other scores"),
        (AcrossTexts, "other scores"),
    ],
)
def test_what_cannot_run_together_is_found_out_and_the_reason_told(
    kind: Callable[[int], nn.Module], reason: str
) -> None:
    with pytest.raises(ApartError, match=reason):
        check(kind)


@pytest.mark.parametrize("kind", [Odd, Counts])
def test_what_can_is_let_through(kind: Callable[[int], nn.Module]) -> None:
    check(kind)


def test_a_component_that_fails_by_itself_is_not_called_unfit_for_an_ensemble() -> None:
    class Broken(Odd):
        def odd(self, x: Tensor) -> Tensor:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        check(Broken)
