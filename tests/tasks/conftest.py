"""A book, and a language model and an encoder-decoder that were trained once."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from small import LM, SEQ2SEQ

from zoo.cli import main


@pytest.fixture(scope="package", autouse=True)
def _own_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of these tests' own, no plug-ins but theirs, and one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "ZOO_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setitem(os.environ, "ZOO_PLUGINS", "")
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)


@pytest.fixture(scope="package")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 400 lines in which few words follow one another, and letters beyond ASCII."""
    draw = random.Random(0)
    words = "the owl saw a naïve fox run over hills and — so it goes — sleep till dawn".split()
    lines = []
    for _ in range(400):
        place = draw.randrange(len(words))
        lines.append(" ".join(words[(place + i) % len(words)] for i in range(8)) + ".\n")
    path = tmp_path_factory.mktemp("book") / "book.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="package")
def writer(book: Path, tmp_path_factory: pytest.TempPathFactory, _own_surroundings: None) -> Path:
    """The directory of a language model, which nobody changes."""
    directory = tmp_path_factory.mktemp("writer") / "model"
    assert main(["train", *LM, "--data", str(book), "--save", str(directory)]) == 0
    return directory


@pytest.fixture(scope="package")
def translator(tmp_path_factory: pytest.TempPathFactory, _own_surroundings: None) -> Path:
    """The directory of an encoder-decoder, which nobody changes."""
    directory = tmp_path_factory.mktemp("translator") / "model"
    assert main(["train", *SEQ2SEQ, "--save", str(directory)]) == 0
    return directory
