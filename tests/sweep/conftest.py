from __future__ import annotations

import csv
import os
import random
from pathlib import Path

import pytest
from sweeps import TINY

WORDS = {
    "sport": "goal match team coach league striker cup season".split(),
    "market": "shares profit bank stock trader bond market growth".split(),
    "music": "album singer band concert song guitar stage chart".split(),
}
COMMON = "the a of and to in said on it was for with as at by from".split()


@pytest.fixture(scope="session")
def corpus_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """72 training and 30 test documents of three classes that share most of their words."""
    directory = tmp_path_factory.mktemp("corpus")
    draw = random.Random(0)
    for split, size in (("train", 24), ("test", 10)):
        with (directory / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for label, own in WORDS.items():
                for _ in range(size):
                    length = draw.randint(6, 40)
                    words = [
                        draw.choice(own if draw.random() < 0.3 else COMMON) for _ in range(length)
                    ]
                    writer.writerow([" ".join(words), label])
    return directory


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["ZOO_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def tiny(corpus_directory: Path) -> list[str]:
    """The options of a run that takes seconds."""
    return [*TINY, "--data", str(corpus_directory)]
