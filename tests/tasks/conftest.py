"""Data of small runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_runs import isolated, write_book


@pytest.fixture(scope="package", autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with isolated(tmp_path_factory.mktemp("cache")):
        yield


@pytest.fixture(scope="package")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file, which nobody changes."""
    return write_book(tmp_path_factory.mktemp("book") / "book.txt")
