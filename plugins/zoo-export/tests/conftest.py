"""Models that are trained once, which no test changes; ``--slow`` runs what takes long."""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from export_models import GENERATOR, TINY

from zoo.cli import main
from zoo.inference.saved_model import load
from zoo.models.text_model import TextClassifier

WORDS = {
    "market": "shares profit bank stock trader bond growth".split(),
    "music": "album singer band concert song guitar chart".split(),
    "sport": "goal match team coach league striker cup".split(),
}
COMMON = "the a of and to in said on it was for with as at by from".split()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = "slow" in config.getoption("markexpr") or config.getoption("--slow", False)
    for item in items:
        if item.get_closest_marker("slow") and not wanted:
            item.add_marker(pytest.mark.skip(reason="slow; run with -m slow"))


@pytest.fixture(scope="module", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty cache, and one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "ZOO_CACHE", str(tmp_path_factory.mktemp("cache")))
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """72 training and 30 test documents of three classes that share most of their words."""
    directory, draw = tmp_path_factory.mktemp("data"), random.Random(0)
    for split, size in (("train", 24), ("test", 10)):
        with (directory / f"{split}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["text", "label"])
            for label, own in WORDS.items():
                for _ in range(size):
                    chosen = [own if draw.random() < 0.3 else COMMON for _ in range(40)]
                    count = draw.randint(6, 40)
                    rows.writerow([" ".join(draw.choice(words) for words in chosen[:count]), label])
    return directory


def train(directory: Path, *arguments: str) -> Path:
    assert main(["train", *arguments, "--save", str(directory)]) == 0
    return directory


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory, _environment: None) -> Path:
    """The directory of a classifier."""
    directory = tmp_path_factory.mktemp("trained") / "model"
    return train(directory, *TINY, "--data", str(corpus), "--seed", "1")


@pytest.fixture(scope="module")
def model(trained: Path) -> TextClassifier:
    loaded = load(trained)
    assert isinstance(loaded, TextClassifier)
    return loaded


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory, _environment: None) -> Path:
    """A language model of lines of the same words."""
    home = tmp_path_factory.mktemp("language_model")
    (home / "book.txt").write_text("the owl saw a fox run over hills till dawn\n" * 200)
    options = ["--task", "lm", *GENERATOR, "--set", "vocab_size=300"]
    return train(home / "model", *options, "--data", str(home / "book.txt"))


@pytest.fixture(scope="module")
def encoder_decoder(tmp_path_factory: pytest.TempPathFactory, _environment: None) -> Path:
    """An encoder-decoder that copies short texts."""
    directory = tmp_path_factory.mktemp("encoder_decoder") / "model"
    data = "copy(train=40,test=10,shortest=2,longest=4)"
    return train(directory, "--task", "seq2seq", *GENERATOR, "--data", data)
