"""Models that the zoo trained and saved, which no test changes."""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from zoo.cli import main

WORDS = {
    "market": "shares profit bank stock trader bond growth".split(),
    "music": "album singer band concert song guitar chart".split(),
    "sport": "goal match team coach league striker cup".split(),
}
COMMON = "the a of and to in said on it was for with as at by from".split()
TINY = (
    "--set dim=16,heads=2,ffn_dim=32,layers=2,vocab_size=160,batch_size=8 --max-length 24 "
    "--epochs 1 --threads 1 --device cpu --on inline"
).split()


@pytest.fixture(scope="module", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty cache, no installed plug-ins, no network, and one thread."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "ZOO_CACHE": str(tmp_path_factory.mktemp("cache")),
            "ZOO_PLUGINS": "",
            "HF_HUB_OFFLINE": "1",
            "HF_HOME": str(tmp_path_factory.mktemp("hub")),
        }.items():
            patch.setitem(os.environ, name, value)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Texts of several lengths, one longer than a model here reads."""
    return [
        "the singer of the band",
        "a goal by the striker of the team in the cup match",
        "shares",
        " ".join(["profit growth of the bank"] * 9),
    ]


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
                    chosen = [own if draw.random() < 0.3 else COMMON for _ in range(20)]
                    count = draw.randint(6, 20)
                    rows.writerow([" ".join(draw.choice(words) for words in chosen[:count]), label])
    return directory


Train = Callable[..., Path]


@pytest.fixture(scope="module")
def train(corpus: Path, tmp_path_factory: pytest.TempPathFactory, _environment: None) -> Train:
    """Train a tiny model with further options and save it."""

    def run(*options: str, data: str = str(corpus)) -> Path:
        directory = tmp_path_factory.mktemp("trained") / "model"
        arguments = ["train", *TINY, "--data", data, *options, "--save", str(directory)]
        assert main(arguments) == 0
        return directory

    return run


@pytest.fixture(scope="module")
def classifier(train: Train) -> Path:
    """A classifier with rotary positions, whose tables are in no file of weights."""
    return train("--pe", "rope")


@pytest.fixture(scope="module")
def learned_positions(train: Train) -> Path:
    """A classifier with learned positions, so that its length is limited."""
    return train("--pe", "learned")


@pytest.fixture(scope="module")
def tagger(train: Train) -> Path:
    """A tagger of made-up sequences."""
    options = ("--task", "tag", "--set", "head_hidden=8", "--max-length", "100")
    return train(*options, data="recall(train=40,test=10)")


@pytest.fixture(scope="module")
def masked(train: Train) -> Path:
    """A masked language model of the documents."""
    return train("--task", "mlm")
