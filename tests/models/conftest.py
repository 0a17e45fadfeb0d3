"""Fixtures of the tests of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from small_models import classifier

from zoo.models.architectures import Classifier

Assemble = Callable[..., Classifier]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Tensors this small are slower on many threads than on one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def assemble(registry) -> Assemble:
    """A small classifier of the usual cell, except for the choices, sizes and options named."""
    return partial(classifier, registry)
