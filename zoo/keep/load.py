"""``zoo.load(DIR)``: a kept model, built from registered components and its own weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer

from zoo import plugins as installed
from zoo.errors import ZooError, one_line
from zoo.harness.witness import agrees
from zoo.keep import directory as files
from zoo.keep.card import Card
from zoo.keep.classifier import TextClassifier
from zoo.models.build import build_classifier
from zoo.models.cell import Cell
from zoo.models.classifier import Classifier
from zoo.registry import Registry
from zoo.tasks.classifying import class_scores


def load(
    directory: str | Path,
    *,
    plugins: Sequence[str | Path] = (),
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> TextClassifier:
    """The model that ``zoo train --save`` kept, ready to predict, in float32.

    plugins: single-file plug-ins it was trained with. allow_changed: load it though components
    are no longer what they were. No code runs but that of registered components. Raises ZooError
    where the directory holds no sound model, or components are missing or have changed.
    """
    return load_from(
        Path(directory),
        installed.load(plugins).registry,
        device=device,
        allow_changed=allow_changed,
    )


def load_from(
    directory: Path,
    registry: Registry,
    *,
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> TextClassifier:
    """As ``load``, with the components of a registry."""
    card = files.read(directory)
    try:
        cell = card.find_cell(registry, allow_changed=allow_changed)
        classifier = _build(card, cell)
        _fill(classifier, directory / files.WEIGHTS)
        if not allow_changed and not agrees(
            classifier, class_scores, card.witness.ids, card.witness.logits
        ):
            raise ZooError(_stranger(card, cell))
        model = TextClassifier(classifier, _tokenizer(directory / files.TOKENIZER), card, cell)
    except ZooError as error:
        raise ZooError(f"{directory}: {error}") from error
    return model.to(device).eval()


def _build(card: Card, cell: Cell) -> Classifier:
    """The classifier as it was before training."""
    try:
        return build_classifier(
            cell,
            card.sizes,
            vocab_size=card.vocab_size,
            classes=len(card.labels),
            seed=card.seed,
            dropout=card.training.dropout,
            attention_dropout=card.training.attention_dropout,
            read_last=card.read_last,
        )
    except (ValueError, TypeError, RuntimeError, MemoryError) as error:
        raise ZooError(f"cannot be built here: {one_line(error)}") from error


def _fill(classifier: Classifier, file: Path) -> None:
    try:
        classifier.load_state_dict(load_file(file))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ZooError(f"{file.name} does not fit {files.CONFIG}: {one_line(error)}") from error


def _tokenizer(file: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing more telling
        raise ZooError(f"{file.name} holds no tokenizer: {one_line(error)}") from error


def _stranger(card: Card, cell: Cell) -> str:
    changed = card.differences(cell)
    return (
        "gives other scores here than when it was saved"
        + (f"; changed since: {changed}" if changed else "")
        + f"; it was trained with encoder-zoo {card.zoo}; --allow-changed (allow_changed=True) "
        "loads it all the same"
    )
