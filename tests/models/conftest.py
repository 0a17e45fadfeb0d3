"""What the tests of models share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from usual import SMALL, USUAL

from zoo.config.sizes import Sizes
from zoo.models.build import build_classifier
from zoo.models.classifier import Classifier
from zoo.registry import Registry
from zoo.registry.cell import Cell

Assemble = Callable[..., Classifier]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Tensors this small are slower on many threads than on one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def assemble(registry: Registry) -> Assemble:
    """A small classifier of the usual cell, save for the choices, sizes and options named."""

    def assemble(seed: int = 0, **changes: Any) -> Classifier:
        names = {axis: changes.pop(axis, usual) for axis, usual in USUAL.items()}
        sizes = {key: changes.pop(key) for key in list(changes) if key in Sizes.model_fields}
        return build_classifier(
            Cell.parse(registry, names),
            Sizes(**{**SMALL, **sizes}),
            vocab_size=20,
            classes=3,
            seed=seed,
            **changes,
        )

    return assemble
