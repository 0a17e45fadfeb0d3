"""``zoo.load(DIR)``: a saved model, built from registered components and its own weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer

from zoo.errors import ZooError, one_line
from zoo.inference import directory as files
from zoo.models.text_model import TextModel
from zoo.registry import Registry, loading
from zoo.training.sample_outputs import same_outputs


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
        setup = card.setup(registry, allow_changed=allow_changed)
        cell, task = card.find_cell(registry, allow_changed=allow_changed), setup.task
        with _explained("cannot be built here", ValueError, TypeError, RuntimeError, MemoryError):
            model = task.build(setup, cell, card.seed)
        with _explained(
            f"{files.WEIGHTS} does not match {files.CONFIG}", OSError, SafetensorError, RuntimeError
        ):
            model.load_state_dict(load_file(directory / files.WEIGHTS))
        saved = card.sample_outputs.model_dump()
        if not allow_changed and not same_outputs(model, task.sample_scores, saved):
            changed = card.differences(cell)
            raise ZooError(
                "gives other outputs here than when it was saved"
                f"{f'; changed since: {changed}' if changed else ''}; it was trained with "
                f"encoder-zoo {card.zoo}; --allow-changed (allow_changed=True) loads it anyway"
            )
        with _explained(f"{files.TOKENIZER} is not a tokenizer", Exception):
            tokenizer = Tokenizer.from_file(str(directory / files.TOKENIZER))
        text_model = task.text_model(setup, model, tokenizer)
    except ZooError as error:
        raise ZooError(f"{directory}: {error}") from error
    text_model.card = card
    layers = range(1, card.sizes.layers + 1)
    attentions = {layer: cell.attention.at(layer - 1) for layer in layers}
    text_model.layers_with_map = tuple(
        # Two in opposite directions have no map in common.
        layer
        for layer, a in attentions.items()
        if a.can("map") and not a.can("causal-only")
    )
    return text_model.to(device).eval()


@contextlib.contextmanager
def _explained(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turns errors of these kinds into ZooErrors that begin with ``what``."""
    try:
        yield
    except kinds as error:
        raise ZooError(f"{what}: {one_line(error)}") from error
