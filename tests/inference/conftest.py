"""Models trained once, and copied by those who damage them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from kept import PLUGIN, TINY, write_corpus

from zoo.cli import main
from zoo.inference.load import load
from zoo.models.text_classifier import TextClassifier


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
def corpus(tmp_path_factory: pytest.TempPathFactory, _own_surroundings: None) -> Path:
    return write_corpus(tmp_path_factory.mktemp("keep") / "corpus")


@pytest.fixture(scope="package")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a model, which nobody changes."""
    directory = tmp_path_factory.mktemp("trained") / "model"
    arguments = ["train", *TINY, "--data", str(corpus), "--seed", "1", "--save", str(directory)]
    assert main(arguments) == 0
    return directory


@pytest.fixture
def kept(trained: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(trained, tmp_path / "kept"))


@pytest.fixture(scope="package")
def model(trained: Path) -> TextClassifier:
    return load(trained)


@pytest.fixture(scope="package")
def mapless(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model with an attention of a plug-in file, and that file."""
    home = tmp_path_factory.mktemp("mapless")
    plugin = home / "mapless.py"
    plugin.write_text(PLUGIN.format(scale=1.0))
    arguments = ["--attention", "mapless", "--pe", "sin", "--plugin", str(plugin)]
    arguments += ["--data", str(corpus), "--epochs", "1", "--save", str(home / "model")]
    assert main(["train", *TINY, *arguments]) == 0
    return home / "model", plugin
