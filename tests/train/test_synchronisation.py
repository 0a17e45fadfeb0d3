"""Nothing in the step loop waits for the device: no value is fetched, no stream waited for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function
from zoo.harness.ensemble_trainer import EnsembleTrainer
from zoo.tasks.classifying import classification_loss

from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.data.batching.document_batches import Split
from zoo.data.encoding.encoded_documents import Documents
from zoo.models.build import build_classifier
from zoo.registry import Registry
from zoo.registry.cell import Cell
from zoo.train.device import Runtime
from zoo.train.trainer import Trainer

# What brings a number to the host, and what waits for a device.
FETCHES = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::nonzero"}
WAITS = {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"}
SIZES = Sizes(dim=16, layers=2, heads=2, hidden=32, max_length=24, vocab_size=50)
STEPS = 4


def trainer(registry: Registry, device: str, attention: str) -> Trainer:
    """Of a cell with every sort of work in its step: padding, clipping, dropout of all sorts."""
    names = {"attention": attention, "pe": "rope", "norm": "layer", "ffn": "gelu"}
    cell = Cell.parse(registry, {**names, "block": "pre", "pool": "mean"})
    draw, documents = np.random.default_rng(0), 8 * STEPS
    lengths = draw.integers(5, SIZES.max_length, documents)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = draw.integers(1, SIZES.vocab_size, offsets[-1]).astype(np.int32)
    texts = Documents(ids, offsets, draw.integers(0, 3, documents))
    training = Training(batch_size=8, token_dropout=0.1, token_deletion=0.1, label_smoothing=0.1)
    model = build_classifier(
        cell, SIZES, vocab_size=SIZES.vocab_size, classes=3, seed=0, dropout=0.1
    )
    runtime = Runtime(torch.device(device), "bf16" if device == "cuda" else "fp32")
    split = Split(texts, runtime.device)
    return Trainer(model.to(device), split, classification_loss, training, runtime, seed=0)


def waits(steps: Iterator[object], device: str) -> list[str]:
    """The names of whatever waited while the steps went on, as the profiler's trace has them."""
    next(steps)  # what is set up in the first step is no part of the loop
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as trace, record_function("the loop"):
        for _ in steps:
            pass
    events = list(trace.events())
    loop = next(e for e in events if e.name == "the loop").time_range
    # The profiler itself waits for the device when it ends: outside the loop.
    inside = [e for e in events if loop.start <= e.time_range.start <= loop.end]
    assert any("adamw" in e.name for e in inside)
    found = [e for e in inside if e.name in FETCHES | WAITS]
    # torch's fused AdamW on a CPU reads its own counter of steps, which is there already.
    return [e.name for e in found if device != "cpu" or not within(e, "aten::_fused_adamw_")]


def within(event: Any, name: str) -> bool:
    parent = event.cpu_parent
    return parent is not None and (parent.name == name or within(parent, name))


def steps(one: Trainer, after: Callable[[object], object] = lambda _: None) -> Iterator[object]:
    one.model.train()
    for batch in one.train.shuffled(one.training.batch_size, one.seed, epoch=0):
        loss, _ = one.train_step(batch)
        yield after(loss)


@pytest.mark.parametrize("attention", ["fused", "naive"])
def test_a_step_fetches_no_number(registry: Registry, attention: str):
    assert waits(steps(trainer(registry, "cpu", attention)), "cpu") == []


def test_a_step_that_fetches_its_loss_is_seen(registry: Registry):
    seen = waits(steps(trainer(registry, "cpu", "fused"), lambda loss: loss.item()), "cpu")
    assert seen.count("aten::item") == STEPS - 1


def together(registry: Registry, device: str) -> EnsembleTrainer:
    alone = trainer(registry, device, "fused")
    return EnsembleTrainer(
        [copy.deepcopy(alone.model) for _ in range(2)],
        alone.train,
        alone.training,
        alone.runtime,
        [0, 1],
        vocab_size=SIZES.vocab_size,
        max_length=SIZES.max_length,
    )


def joint_steps(one: EnsembleTrainer) -> Iterator[object]:
    one.ensemble.training = True
    for batches in one._batches():
        yield one.train_step(batches)


def test_a_step_of_seeds_together_fetches_no_number(registry: Registry):
    assert waits(joint_steps(together(registry, "cpu")), "cpu") == []


@pytest.mark.gpu
def test_a_step_of_seeds_together_on_a_gpu_waits_for_nothing(registry: Registry):
    assert waits(joint_steps(together(registry, "cuda")), "cuda") == []


@pytest.mark.gpu
@pytest.mark.parametrize("attention", ["fused", "naive"])
def test_a_step_on_a_gpu_waits_for_nothing(registry: Registry, attention: str):
    assert waits(steps(trainer(registry, "cuda", attention)), "cuda") == []


@pytest.mark.gpu
def test_a_step_on_a_gpu_that_fetches_its_loss_is_seen(registry: Registry):
    seen = waits(steps(trainer(registry, "cuda", "fused"), lambda loss: loss.item()), "cuda")
    assert seen.count("aten::item") == STEPS - 1
    assert set(seen) & WAITS
