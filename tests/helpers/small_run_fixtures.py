"""Data of small runs, for the conftest files of several rooms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import CLASSIFY, isolated, write_book, write_corpus


@pytest.fixture(scope="package", autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with isolated(tmp_path_factory.mktemp("cache")):
        yield


@pytest.fixture(scope="package")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of train.csv and test.csv, which nobody changes."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="package")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file, which nobody changes."""
    return write_book(tmp_path_factory.mktemp("book") / "book.txt")


@pytest.fixture
def small(corpus: Path) -> dict[str, Any]:
    """The options of a small classification."""
    return {**CLASSIFY, "data": str(corpus)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
