"""Models that are trained once; a test that damages one gets a copy."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from saved_models import GENERATOR, PLUGIN, TINY, train
from small_run_fixtures import _isolated, book, corpus

from zoo.inference.saved_model import load
from zoo.models.text_model import TextClassifier

__all__ = ["_isolated", "book", "corpus"]


@pytest.fixture
def answer(said) -> Callable[..., Any]:
    """What a command prints as JSON."""
    return lambda *words: json.loads(said(*words, "--json").out)


@pytest.fixture
def rows(said) -> Callable[..., list[dict[str, Any]]]:
    """What ``zoo predict`` prints as JSON lines."""

    def run(*words: object) -> list[dict[str, Any]]:
        printed = said("predict", *words, "--json").out
        return [json.loads(line) for line in printed.splitlines()]

    return run


@pytest.fixture(scope="package")
def trained(corpus, tmp_path_factory, _isolated) -> Path:
    """The directory of a classifier that no test changes. A worker process trained it."""
    directory = tmp_path_factory.mktemp("trained") / "model"
    return train(directory, *TINY, "--on", "local", "--data", corpus, "--seed", 1)


@pytest.fixture
def copied(trained, tmp_path) -> Path:
    """A copy of it that may be changed."""
    return Path(shutil.copytree(trained, tmp_path / "copied"))


@pytest.fixture(scope="package")
def model(trained) -> TextClassifier:
    loaded = load(trained)
    assert isinstance(loaded, TextClassifier)
    return loaded


@pytest.fixture(scope="package")
def mapless(corpus, tmp_path_factory, _isolated) -> tuple[Path, Path]:
    """A model whose attention is from a plug-in file and has no map; and that file."""
    home = tmp_path_factory.mktemp("mapless")
    plugin = home / "mapless.py"
    plugin.write_text(PLUGIN.format(scale=1.0))
    cell = ["--attention", "mapless", "--pe", "sin", "--plugin", plugin]
    return train(home / "model", *TINY, *cell, "--data", corpus, "--epochs", 1), plugin


@pytest.fixture(scope="package")
def language_model(book, tmp_path_factory, _isolated) -> Path:
    """A language model of lines in which few words follow one another, some not ASCII."""
    directory = tmp_path_factory.mktemp("language_model") / "model"
    options = "--task lm --max-length 24 --epochs 2 --lr 0.01 --set vocab_size=300,batch_size=8"
    return train(directory, *options.split(), *GENERATOR, "--data", book)


@pytest.fixture(scope="package")
def encoder_decoder(tmp_path_factory, _isolated) -> Path:
    """An encoder-decoder that copies short texts."""
    directory = tmp_path_factory.mktemp("encoder_decoder") / "model"
    options = "--task seq2seq --max-length 12 --epochs 4 --lr 0.01".split()
    data = "copy(train=200,test=20,shortest=2,longest=4)"
    return train(directory, *options, *GENERATOR, "--data", data)
