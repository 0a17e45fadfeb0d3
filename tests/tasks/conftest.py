"""Data of small runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import CLASSIFY, LM, SEQ2SEQ, flags, isolated, write_book, write_corpus

from zoo.cli import main


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


@pytest.fixture(scope="package")
def language_model(book: Path, tmp_path_factory: pytest.TempPathFactory, _isolated: None) -> Path:
    """The directory of a saved language model, which nobody changes."""
    directory = tmp_path_factory.mktemp("language") / "model"
    words = flags({**LM, "data": book, "save": directory})
    assert main(["train", "--on", "inline", *words]) == 0
    return directory


@pytest.fixture(scope="package")
def translator(tmp_path_factory: pytest.TempPathFactory, _isolated: None) -> Path:
    """The directory of a saved encoder-decoder, which nobody changes."""
    directory = tmp_path_factory.mktemp("translator") / "model"
    assert main(["train", "--on", "inline", *flags({**SEQ2SEQ, "save": directory})]) == 0
    return directory
