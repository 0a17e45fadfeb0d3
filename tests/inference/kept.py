"""A corpus, a model trained on it, and models like it that nobody trained."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.inference.load import load
from zoo.models.build import build_classifier
from zoo.models.text_classifier import TextClassifier
from zoo.registry import Registry
from zoo.registry.cell import Cell

WORDS = {
    "market": "shares profit bank stock trader bond growth".split(),
    "music": "album singer band concert song guitar chart".split(),
    "sport": "goal match team coach league striker cup".split(),
}
COMMON = "the a of and to in said on it was for with as at by from".split()
TINY = (
    "--dim 16 --heads 2 --hidden 32 --layers 2 --max-length 24 --vocab-size 160 --epochs 2 "
    "--batch-size 8 --threads 1 --device cpu"
).split()

PLUGIN = '''
"""An attention without a map."""

from zoo import hookimpl
from zoo.components.attention.base import Headed
from zoo.components.attention.projections import Packed


class Mapless(Headed):
    projection = Packed
    scale = {scale}

    def mix(self, q, k, v, queries, keys, position, causal):
        real = 1.0 if keys.padding is None else keys.padding[:, None, :, None].to(v)
        return self.scale * (v * real).mean(dim=2, keepdim=True).expand_as(q)


@hookimpl
def zoo_register(register):
    register("attention", "mapless", Mapless, summary="all alike",
             capabilities=("padding", "cross"))
'''


def write_corpus(directory: Path) -> Path:
    """72 training and 30 test documents of three classes that share most of their words."""
    directory.mkdir()
    draw = random.Random(0)
    for split, size in (("train", 24), ("test", 10)):
        rows = []
        for label, own in WORDS.items():
            for _ in range(size):
                length = draw.randint(6, 40)
                words = [draw.choice(own if draw.random() < 0.3 else COMMON) for _ in range(length)]
                rows.append([" ".join(words), label])
        write_csv(directory / f"{split}.csv", rows)
    return directory


def write_csv(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *rows])
    return path


def test_documents(corpus: Path) -> tuple[list[str], list[str]]:
    """Texts and labels of the test split, read by nobody's code but csv's."""
    with (corpus / "test.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]


test_documents.__test__ = False  # type: ignore[attr-defined]


def alike(directory: Path, registry: Registry, **changes: str) -> TextClassifier:
    """The kept model with other components, untrained: vocabulary and sizes as they were."""
    model = load(directory)
    card, cell = model.card, Cell.parse(registry, {**model.cell.names, **changes})
    classifier = build_classifier(
        cell, card.sizes, vocab_size=card.vocab_size, classes=len(card.labels), seed=7
    )
    return TextClassifier(classifier, model.tokenizer, card, cell).eval()


def change_config(directory: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what stands in a kept model's config.json."""
    file = directory / "config.json"
    config = json.loads(file.read_text())
    change(config)
    file.write_text(json.dumps(config))
