"""``zoo.load(DIR)``: a kept model, built from registered components and its own weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn

from zoo.errors import ZooError, one_line
from zoo.inference import directory as files
from zoo.inference.card import Card
from zoo.models.build import build_encoder_decoder, build_ensemble, build_language_model
from zoo.models.text_classifier import TextClassifier
from zoo.models.text_writer import TextWriter
from zoo.registry import Registry, loading
from zoo.registry.cell import Cell
from zoo.tasks import language, transducing
from zoo.tasks.classifying import class_scores
from zoo.train.sample_outputs import Answer, agrees

Kept = TextClassifier | TextWriter


def load(
    directory: str | Path,
    *,
    plugins: Sequence[str | Path] = (),
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> Kept:
    """The model that ``zoo train --save`` kept, ready to predict or to write, in float32.

    plugins: single-file plug-ins it was trained with. allow_changed: load it though components
    are no longer what they were. No code runs but that of registered components. Raises ZooError
    where the directory holds no sound model, or components are missing or have changed.
    """
    return load_from(
        Path(directory),
        loading.load(plugins).registry,
        device=device,
        allow_changed=allow_changed,
    )


def load_from(
    directory: Path,
    registry: Registry,
    *,
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> Kept:
    """As ``load``, with the components of a registry."""
    card = files.read(directory)
    form = FORMS[card.task]
    try:
        cell = card.find_cell(registry, allow_changed=allow_changed)
        built = _build(form, card, cell)
        _fill(built, directory / files.WEIGHTS)
        witness = card.witness
        if not allow_changed and not agrees(built, form.answer, witness.ids, witness.logits):
            raise ZooError(_stranger(card, cell))
        model = form.wrap(built, _tokenizer(directory / files.TOKENIZER), card, cell)
    except ZooError as error:
        raise ZooError(f"{directory}: {error}") from error
    return model.to(device).eval()


@dataclass(frozen=True)
class Form:
    """What a kept model of one task is: built as before training, known again, taking texts."""

    build: Callable[[Card, Cell, dict[str, Any]], nn.Module]
    answer: Answer
    wrap: Callable[[Any, Tokenizer, Card, Cell], Kept]


FORMS: dict[str, Form] = {
    "classify": Form(
        lambda card, cell, rest: build_ensemble(
            cell, card.sizes, classes=len(card.labels), read_last=card.read_last, **rest
        ),
        class_scores,
        TextClassifier,
    ),
    "lm": Form(
        lambda card, cell, rest: build_language_model(cell, card.sizes, **rest),
        language.next_scores,
        TextWriter,
    ),
    "seq2seq": Form(
        lambda card, cell, rest: build_encoder_decoder(cell, card.sizes, **rest),
        transducing.next_scores,
        TextWriter,
    ),
}


def _build(form: Form, card: Card, cell: Cell) -> nn.Module:
    """The model as it was before training."""
    rest = {
        "vocab_size": card.vocab_size,
        "seed": card.seed,
        "dropout": card.training.dropout,
        "attention_dropout": card.training.attention_dropout,
        "embedding_std": card.training.embedding_std,
    }
    try:
        return form.build(card, cell, rest)
    except (ValueError, TypeError, RuntimeError, MemoryError) as error:
        raise ZooError(f"cannot be built here: {one_line(error)}") from error


def _fill(model: nn.Module, file: Path) -> None:
    try:
        model.load_state_dict(load_file(file))
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
