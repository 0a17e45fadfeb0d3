"""Benchmarks run by pytest-benchmark; the package's docstring says how."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bench.components.cases import SCALES, NothingToMeasure, choices, make
from zoo.registry import Choice, loading

# The same names in every commit, so that saved runs can be compared: kind/name, size.
EVERY = {f"{c.component.kind}/{c}": c for c in choices(loading.load().registry)}
COMPONENTS = pytest.mark.parametrize("choice", EVERY.values(), ids=EVERY)
SIZES = pytest.mark.parametrize("size", SCALES)


@SIZES
@COMPONENTS
def test_forward(benchmark: Any, choice: Choice, size: str) -> None:
    """One call, with gradients enabled."""
    _describe(benchmark, choice, "forward", size)
    benchmark(_case(choice, size).forward)


@SIZES
@COMPONENTS
def test_backward(benchmark: Any, choice: Choice, size: str) -> None:
    """The gradients of inputs and weights."""
    _describe(benchmark, choice, "backward", size)
    case = _case(choice, size)
    if not case.leaves:
        pytest.skip("it has no gradients")
    benchmark(case.backward())


def _describe(benchmark: Any, choice: Choice, way: str, size: str) -> None:
    """The group that pytest-benchmark compares it in, and what its JSON says of it."""
    kind = choice.component.kind
    benchmark.group = f"{kind}, {way}, {size}"
    benchmark.extra_info.update(
        kind=kind,
        component=str(choice),
        distribution=choice.component.owner.distribution,
        way=way,
        size=size,
        shape=SCALES[size].description,
    )


def _case(choice: Choice, size: str) -> Any:
    torch.manual_seed(0)
    try:
        return make(choice, SCALES[size])
    except NothingToMeasure as nothing:
        pytest.skip(str(nothing))
