"""A corpus, the options of small models, and untrained models like a trained one."""

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file, save_file
from torch import Tensor

from zoo.cli import main
from zoo.inference.attention_map import AttentionMap
from zoo.inference.saved_model import WEIGHTS, load
from zoo.models.build import build_classifier
from zoo.models.text_model import TextClassifier
from zoo.registry import AXES, Registry
from zoo.registry.cell import Cell

TINY = (
    "--set dim=16,heads=2,ffn_dim=32,layers=2,vocab_size=160,batch_size=8 --max-length 24 "
    "--epochs 2 --lr 0.003 --threads 1 --device cpu --on inline"
).split()
GENERATOR = "--set dim=16,heads=2,ffn_dim=32,layers=1 --threads 1 --device cpu --on inline".split()

PLUGIN = '''
"""An attention without a map: every token gets the mean of all values."""

from zoo import hookimpl
from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import PackedProjection


class Mapless(ProjectedAttention):
    projection = PackedProjection
    scale = {scale}

    def mix(self, q, k, v, layer):
        mask = layer.keys.attention_mask
        real = 1.0 if mask is None else mask[:, None, :, None].to(v)
        return self.scale * (v * real).mean(dim=2, keepdim=True).expand_as(q)


@hookimpl
def zoo_register(register):
    register("attention", "mapless", Mapless, summary="the mean of all values",
             capabilities=("padding", "cross"))
'''


def train(directory: Path, *arguments: object) -> Path:
    """Train a model into the directory, as a user does."""
    assert main(["train", *map(str, arguments), "--save", str(directory)]) == 0
    return directory


def write_csv(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *rows])
    return path


def held_out(corpus):
    """Texts and labels of the test split, read with the csv module alone."""
    with (corpus / "test.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]


def similar(directory: Path, registry: Registry, **changes: str) -> TextClassifier:
    """An untrained model with the tokenizer and sizes of a saved one, and other components."""
    model = load(directory)
    card = model.card
    names = dict(zip(AXES, card.cell.split("+"), strict=True))
    cell = Cell.parse(registry, {**names, **changes})
    classifier = build_classifier(
        cell, card.sizes, vocab_size=card.vocab_size, classes=len(card.labels), seed=7
    )
    untrained = TextClassifier(classifier, model.tokenizer, card.sizes.max_length, card.labels)
    layers = range(1, card.sizes.layers + 1)
    untrained.layers_with_map = tuple(n for n in layers if cell.at("attention", n - 1).can("map"))
    return untrained.eval()


def weights_of(shown: AttentionMap) -> np.ndarray:
    """The weights (layers, H, L, L) of all layers, which have one number of heads."""
    return np.stack(list(shown.by_layer.values()))


def change_config(directory: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the content of a saved model's config.json."""
    file = directory / "config.json"
    config = json.loads(file.read_text())
    change(config)
    file.write_text(json.dumps(config))


def change_weights(directory: Path, change: Callable[[dict[str, Tensor]], Any]) -> None:
    """Change the weights of a saved model, whose config.json is then of these."""
    tensors = load_file(directory / WEIGHTS)
    change(tensors)
    save_file(tensors, directory / WEIGHTS)
    note_weights(directory)


def note_weights(directory: Path) -> None:
    """Have config.json name the file of weights that is there."""
    digest = hashlib.sha256((directory / WEIGHTS).read_bytes()).hexdigest()
    change_config(directory, lambda c: c["files"].update({WEIGHTS: digest}))
