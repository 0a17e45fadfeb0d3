"""Nothing in the loop of training steps waits for the device or fetches a value from it."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from token_splits import split
from torch.profiler import ProfilerActivity, profile, record_function

from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.registry import Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import TaskSetup
from zoo.tasks.classify import Classify, ClassifyOptions
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

# What brings a number to the host, and what waits for a device.
FETCHES = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::nonzero"}
WAITS = {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"}
SIZES = Sizes(dim=16, layers=2, heads=2, ffn_dim=32, max_length=24, vocab_size=50)
STEPS = 4


def trainer(registry: Registry, device: str, attention: str) -> Trainer:
    """Of a cell with everything that a step can do: padding, clipping, all sorts of dropout."""
    names = {"attention": attention, "pe": "rope", "norm": "layer", "ffn": "gelu"}
    cell = Cell.parse(registry, {**names, "block": "pre", "pool": "mean"})
    training = Training(batch_size=8, label_smoothing=0.1)
    options = ClassifyOptions(token_deletion=0.1)
    setup = TaskSetup(Classify(), options, SIZES, training, SIZES.vocab_size, ["a", "b", "c"])
    loss = functools.partial(Classify().loss, setup)
    model = build_classifier(
        cell, SIZES, vocab_size=SIZES.vocab_size, classes=3, seed=0, dropout=0.1
    )
    runtime = Runtime(torch.device(device), "bf16" if device == "cuda" else "fp32")
    texts = split([5 + 3 * i % 19 for i in range(8 * STEPS)], runtime.device)
    return Trainer(model.to(device), texts, loss, training, runtime, seed=0)


def waits(steps: Iterator[object], device: str) -> list[str]:
    """The names of the operations among the steps that waited, from the profiler's trace."""
    next(steps)  # the first step also sets things up
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
    # torch's fused AdamW on a CPU reads its own counter of steps, which is on the CPU.
    return [e.name for e in found if device != "cpu" or not within(e, "aten::_fused_adamw_")]


def within(event: Any, name: str) -> bool:
    parent = event.cpu_parent
    return parent is not None and (parent.name == name or within(parent, name))


def steps(one: Trainer, after: Callable[[object], object] = lambda _: None) -> Iterator[object]:
    one.model.train()
    for batch in one.train.shuffled(one.training.batch_size, one.seed, epoch=0):
        loss, _ = one.train_step(batch)
        yield after(loss)


on_every_device = pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
)


@on_every_device
@pytest.mark.parametrize("attention", ["fused", "naive"])
def test_a_step_fetches_no_value_and_waits_for_nothing(registry, attention, device):
    assert waits(steps(trainer(registry, device, attention)), device) == []


@on_every_device
def test_a_step_that_fetches_its_loss_is_noticed(registry, device):
    found = waits(steps(trainer(registry, device, "fused"), lambda loss: loss.item()), device)
    assert found.count("aten::item") == STEPS - 1
    assert bool(set(found) & WAITS) == (device == "cuda")
