"""``zoo.load(DIR)``: a saved model, built from registered components and its own weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn

from zoo.errors import ZooError, one_line
from zoo.inference import directory as files
from zoo.inference.card import Card
from zoo.models.text_model import TextModel
from zoo.registry import Registry, loading
from zoo.registry.cell import Cell
from zoo.tasks.base import Task, TaskSetup
from zoo.train.sample_outputs import same_outputs


def load(
    directory: str | Path,
    *,
    plugins: Sequence[str | Path] = (),
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> TextModel:
    """The model that ``zoo train --save`` wrote, in float32, ready to predict or to generate.

    plugins: single-file plug-ins that it was trained with. allow_changed: load it also where
    components have changed. Only code of registered components runs. Raises ZooError where the
    directory holds no intact model, or components are missing or have changed.
    """
    registry = loading.load(plugins).registry
    return load_from(Path(directory), registry, device=device, allow_changed=allow_changed)


def load_from(
    directory: Path,
    registry: Registry,
    *,
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> TextModel:
    """As ``load``, with the components of a registry."""
    card = files.read(directory)
    try:
        task = card.find_task(registry, allow_changed=allow_changed)
        cell = card.find_cell(registry, allow_changed=allow_changed)
        setup = TaskSetup(
            _task_options(task, card),
            card.sizes,
            card.training,
            card.vocab_size,
            card.labels,
        )
        model = _build(task, setup, cell, card.seed)
        _load_weights(model, directory / files.WEIGHTS)
        saved = card.sample_outputs.model_dump()
        if not allow_changed and not same_outputs(model, task.sample_scores, saved):
            raise ZooError(_different_outputs(card, cell))
        text_model = task.text_model(setup, model, _tokenizer(directory / files.TOKENIZER))
    except ZooError as error:
        raise ZooError(f"{directory}: {error}") from error
    text_model.card = card
    text_model.has_attention_map = cell.attention.can("map")
    return text_model.to(device).eval()


def _task_options(task: Task, card: Card) -> Any:
    try:
        return task.options.model_validate(card.task_options)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise ZooError(
            f"{files.CONFIG} does not match task '{card.task}': {name}: {first['msg']}"
        ) from None


def _build(task: Task, setup: TaskSetup, cell: Cell, seed: int) -> nn.Module:
    """The model as it was before training."""
    try:
        return task.build(setup, cell, seed)
    except (ValueError, TypeError, RuntimeError, MemoryError) as error:
        raise ZooError(f"cannot be built here: {one_line(error)}") from error


def _load_weights(model: nn.Module, file: Path) -> None:
    try:
        model.load_state_dict(load_file(file))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ZooError(f"{file.name} does not match {files.CONFIG}: {one_line(error)}") from error


def _tokenizer(file: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing more specific
        raise ZooError(f"{file.name} is not a tokenizer: {one_line(error)}") from error


def _different_outputs(card: Card, cell: Cell) -> str:
    changed = card.differences(cell)
    return (
        "gives other outputs here than when it was saved"
        + (f"; changed since: {changed}" if changed else "")
        + f"; it was trained with encoder-zoo {card.zoo}; --allow-changed (allow_changed=True) "
        "loads it anyway"
    )
