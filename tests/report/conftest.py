"""Simulations of hundreds of grids, and how their rates are judged."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture(autouse=True)
def _little_garbage() -> Iterator[None]:
    """statsmodels collects garbage at each correction: let it find only a test's own."""
    gc.freeze()
    yield
    gc.unfreeze()
