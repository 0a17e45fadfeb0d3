"""Seeds trained together are the seeds trained apart, step by step and to the end."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from zoo.data.batches import Split
from zoo.data.encode import Documents
from zoo.harness.device import Runtime
from zoo.harness.ensemble_trainer import NOT_SCORED, EnsembleTrainer, clip_each, side_by_side
from zoo.harness.settings import Training
from zoo.harness.trainer import Trainer
from zoo.models.build import build_classifier
from zoo.models.cell import Cell
from zoo.models.sizes import Sizes
from zoo.models.streams import ApartError
from zoo.registry import Registry
from zoo.tasks.classifying import classification_loss, predict

RUNTIME = Runtime(torch.device("cpu"), "fp32")
SIZES = Sizes(dim=8, layers=2, heads=2, hidden=12, max_length=16, head_hidden=6)
SEEDS = (3, 5, 8)
USUAL = {
    "attention": "fused",
    "pe": "rope",
    "norm": "layer",
    "ffn": "relu",
    "block": "pre",
    "pool": "mean",
}
quick = settings(max_examples=50, deadline=None, derandomize=True, database=None)


def split(lengths: Sequence[int]) -> Split:
    draw = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = draw.integers(2, 20, offsets[-1]).astype(np.int32)
    documents = Documents(ids, offsets, np.arange(len(lengths), dtype=np.int64) % 3)
    return Split(documents, RUNTIME.device)


# 29 documents in batches of 6: five are left over, and come at another step for each seed.
TEXTS = [2 + (i * 7) % 14 for i in range(29)]


def models(registry: Registry, training: Training, **changes: str) -> list[nn.Module]:
    return [
        build_classifier(
            Cell.parse(registry, USUAL | changes),
            SIZES,
            vocab_size=20,
            classes=3,
            seed=seed,
            dropout=training.dropout,
            attention_dropout=training.attention_dropout,
        )
        for seed in SEEDS
    ]


def together(modules: Sequence[nn.Module], training: Training) -> EnsembleTrainer:
    return EnsembleTrainer(
        copy.deepcopy(list(modules)),
        split(TEXTS),
        training,
        RUNTIME,
        SEEDS,
        vocab_size=20,
        max_length=16,
    )


def assert_trains_alike(
    modules: Sequence[nn.Module], training: Training, *, rtol: float, atol: float
) -> None:
    """Curves and weights of all epochs, apart and together."""
    ensemble = together(modules, training)
    curves = [ensemble.run_epoch() for _ in range(training.epochs)]
    for number, seed in enumerate(SEEDS):
        model = copy.deepcopy(modules[number])
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        trainer = Trainer(model, split(TEXTS), classification_loss, training, RUNTIME, seed)
        for row in curves:
            epoch = trainer.run_epoch()
            ours = row[number]
            assert ours.loss == pytest.approx(epoch.loss, rel=max(rtol, 1e-6))
            assert (ours.number, ours.accuracy, ours.lr) == (
                epoch.number,
                pytest.approx(epoch.accuracy),
                epoch.lr,
            )
        found = ensemble.ensemble.member(number).state_dict()
        for name, tensor in model.state_dict().items():
            torch.testing.assert_close(
                found[name], tensor, rtol=rtol, atol=atol, msg=lambda m, n=name: f"{n}: {m}"
            )
        assert any(not torch.equal(found[name], before[name]) for name in before)


CELLS = [
    *({"attention": name, "pe": "none"} for name in ("single", "naive", "split", "packed")),
    *({"pe": name} for name in ("none", "sin", "learned", "rope", "alibi")),
    {"attention": "torch", "pe": "alibi"},
    *({"norm": name} for name in ("layer-plain", "layer-std", "rms", "none")),
    *({"ffn": name} for name in ("gelu", "gelu-tanh", "swiglu", "none")),
    {"block": "post"},
    {"block": "bare", "ffn": "none"},
    {"pool": "cls"},
]
SMOOTH = Training(epochs=2, batch_size=6, lr=0.01, dropout=0.0, clip=0.5)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "+".join(cell.values()))
def test_every_cell_trains_together_as_apart_in_float64(
    registry: Registry, cell: dict[str, str]
) -> None:
    modules = [model.double() for model in models(registry, SMOOTH, **cell)]
    assert_trains_alike(modules, SMOOTH, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("cell", [{}, {"pe": "alibi"}, {"norm": "rms", "pool": "cls"}], ids=str)
def test_in_float32_scores_and_losses_differ_by_rounding_alone(
    registry: Registry, cell: dict[str, str]
) -> None:
    # Not the weights one by one: without rotation the key's bias has no effect, so its gradient
    # is rounding alone, which Adam makes steps of.
    training = SMOOTH.model_copy(update={"lr": 1e-3})
    modules = models(registry, training, **cell)
    ensemble = together(modules, training)
    curves = [ensemble.run_epoch() for _ in range(2)]
    for number, (seed, model) in enumerate(zip(SEEDS, modules, strict=True)):
        trainer = Trainer(model, split(TEXTS), classification_loss, training, RUNTIME, seed)
        expected = [trainer.run_epoch().loss for _ in range(2)]
        assert [row[number].loss for row in curves] == pytest.approx(expected, rel=1e-5)
        np.testing.assert_allclose(
            predict(ensemble.ensemble.member(number), split(TEXTS), 7, RUNTIME),
            predict(model, split(TEXTS), 7, RUNTIME),
            atol=1e-5,
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"dropout": 0.3},
        {"dropout": 0.2, "attention_dropout": 0.2},
        {"token_dropout": 0.3},
        {"token_deletion": 0.5},
        {"token_deletion": 0.3, "token_dropout": 0.2, "dropout": 0.1},
        {"token_dropout": 0.2, "dropout": 0.2, "label_smoothing": 0.1, "clip": 0.0},
        {"schedule": "cosine", "weight_decay": 0.3, "warmup": 0.4},
    ],
    ids=str,
)
@pytest.mark.parametrize("attention", ["fused", "naive", "torch"])
def test_each_seed_draws_what_it_draws_alone(
    registry: Registry, attention: str, changes: dict[str, Any]
) -> None:
    training = SMOOTH.model_copy(update=changes)
    modules = [m.double() for m in models(registry, training, attention=attention, pe="sin")]
    # The loss is taken in float32 whatever the model, and so its gradient has that rounding.
    assert_trains_alike(modules, training, rtol=1e-5, atol=1e-7)


def test_a_seed_that_diverges_leaves_the_others_as_they_are(registry: Registry) -> None:
    modules = [model.double() for model in models(registry, SMOOTH)]
    ensemble = together(modules, SMOOTH)
    with torch.no_grad():
        ensemble.ensemble.parameters["head.3.bias"][1] = math.inf
    curves = [ensemble.run_epoch() for _ in range(2)]
    assert [math.isfinite(row[1].loss) for row in curves] == [False, False]
    for number in (0, 2):
        trainer = Trainer(
            modules[number], split(TEXTS), classification_loss, SMOOTH, RUNTIME, SEEDS[number]
        )
        assert [row[number].loss for row in curves] == pytest.approx(
            [trainer.run_epoch().loss for _ in range(2)], rel=1e-6
        )


@quick
@given(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=4),
    st.integers(1, 5),
    st.floats(0.01, 10),
)
def test_clipping_is_each_members_own(shapes: list[list[int]], members: int, most: float) -> None:
    generator = torch.Generator().manual_seed(len(shapes) + members)
    stacks = []
    for shape in shapes:
        stack = nn.Parameter(torch.zeros(members, *shape, dtype=torch.float64))
        stack.grad = torch.randn(stack.shape, generator=generator, dtype=torch.float64)
        stack.grad *= torch.arange(members).view(-1, *[1] * len(shape))
        stacks.append(stack)
    stacks.append(nn.Parameter(torch.zeros(members, 2)))  # nobody's gradient
    expected = []
    for member in range(members):
        alone = []
        for stack in stacks:
            one = nn.Parameter(stack.detach()[member].clone())
            one.grad = None if stack.grad is None else stack.grad[member].clone()
            alone.append(one)
        nn.utils.clip_grad_norm_(alone, most)
        expected.append([one.grad for one in alone])
    clip_each(stacks, most)
    for member, gradients in enumerate(expected):
        for stack, gradient in zip(stacks, gradients, strict=True):
            if gradient is None:
                assert stack.grad is None
            else:
                torch.testing.assert_close(stack.grad[member], gradient)


@quick
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_every_seed_has_its_batch_and_beside_it_nothing_that_counts(
    lengths: list[int], texts: list[int], seed: int
) -> None:
    held, draw = split(lengths), np.random.default_rng(seed)
    rows = [draw.integers(0, len(lengths), n) for n in texts]
    batches = side_by_side(held, rows)
    for number, own in enumerate(rows):
        alone = held.batch(own)
        b, n = batches.sizes[number]
        assert (b, n) == tuple(alone.ids.shape)
        assert torch.equal(batches.ids[number, :b, :n], alone.ids)
        assert torch.equal(batches.labels[number, :b], alone.labels)
        assert (batches.labels[number, b:] == NOT_SCORED).all()
        if batches.padding is None:
            assert alone.tokens.padding is None
            continue
        padding = batches.padding[number]
        assert padding.any(dim=1).all()
        assert not padding[:b, n:].any()
        whole = torch.ones_like(alone.ids, dtype=torch.bool)
        assert torch.equal(
            padding[:b, :n], whole if alone.tokens.padding is None else alone.tokens.padding
        )


def test_what_cannot_run_together_is_refused_before_anything_is_trained(
    registry: Registry,
) -> None:
    class Fickle(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, ids, tokens):
            logits = self.inner(ids, tokens)
            return logits if logits.sum() > 0 else -logits

    with pytest.raises(ApartError, match="cannot be vmapped"):
        together([Fickle(m) for m in models(registry, SMOOTH)], SMOOTH)
