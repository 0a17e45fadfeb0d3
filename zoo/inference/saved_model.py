"""The directory of a saved model: written whole or not at all, checked when it is read, loaded.

Torch is imported where a model is loaded.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from zoo.config.places import refuse_unwritable
from zoo.data.cache import file_digest
from zoo.data.tokenizer import CLS, MASK, PAD, UNK
from zoo.errors import ZooError, one_line
from zoo.files import draft_directory, write_error
from zoo.inference.card import Card, first_error
from zoo.registry import Registry, loading

if TYPE_CHECKING:
    import torch

    from zoo.models.text_model import TextModel

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"  # for Transformers; the zoo does not read it


def refuse_taken(directory: Path) -> None:
    """ZooError where something is there, or the directory cannot be made."""
    if os.path.lexists(directory) and (not directory.is_dir() or any(directory.iterdir())):
        raise ZooError(f"{directory} exists already; choose another directory")
    refuse_unwritable(directory)


@contextlib.contextmanager
def draft(final: Path) -> Iterator[Path]:
    """An empty directory that is renamed to the final one when the block ends without error.

    If the block raises, nothing is left. Raises ZooError where the directory exists by the end of
    the block or before, WriteError where it cannot be written.
    """
    refuse_taken(final)
    final = final.absolute()
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with draft_directory(final) as directory:
            yield directory
    except OSError as error:
        refuse_taken(final)  # made by something else while the block ran
        raise write_error(final, error) from error


def write(directory: Path, card: Card, weights: Path, tokenizer: Path) -> None:
    """Put the files of a model into a directory, the card last."""
    shutil.copyfile(weights, directory / WEIGHTS)
    shutil.copyfile(tokenizer, directory / TOKENIZER)
    words = json.loads(tokenizer.read_bytes())["model"]["vocab"]
    tokens = {"pad_token": PAD, "unk_token": UNK, "cls_token": CLS, "mask_token": MASK}
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": card.sizes.max_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        **{name: token for name, token in tokens.items() if token in words},
    }
    (directory / TOKENIZER_CONFIG).write_text(json.dumps(described, indent=1) + "\n")
    digests = {name: file_digest(directory / name) for name in (WEIGHTS, TOKENIZER)}
    whole = card.model_copy(update={"files": digests}).model_dump()
    text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
    (directory / CONFIG).write_text(text + "\n", encoding="utf-8")


def read(directory: Path) -> Card:
    """The card of a saved model; ZooError where a file is missing, damaged or unknown."""
    if not directory.exists():
        raise ZooError(f"no directory '{directory}'; 'zoo train --save' makes one")
    file = directory / CONFIG
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        card = Card.model_validate(value)
    except OSError as error:
        raise ZooError(f"{directory} holds no model: {CONFIG}: {error.strerror}") from error
    except ValidationError as error:
        raise ZooError(f"{file} does not describe a model: {first_error(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ZooError(f"{file} cannot be read, it may be cut short: {error}") from error
    for name in (WEIGHTS, TOKENIZER):
        if not (directory / name).is_file():
            raise ZooError(f"{directory} is incomplete: {name} is missing")
        if file_digest(directory / name) != card.files.get(name):
            raise ZooError(
                f"{directory / name} is damaged, or not the file that was saved with {CONFIG}"
            )
    return card


def load(
    directory: str | Path,
    *,
    plugins: Sequence[str | Path] = (),
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> TextModel:
    """The model that ``zoo train --save`` wrote, in float32, ready to predict or to generate.

    plugins: single-file plug-ins that it was trained with. allow_changed: load it also where it
    gives other outputs than when it was saved, because components have changed. Only code of
    registered components runs. Raises ZooError where the directory holds no intact model, or
    components are missing or have changed.
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
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    from zoo.training.sample_outputs import same_outputs

    card = read(directory)
    try:
        setup, cell = card.setup(registry), card.find_cell(registry)
        model = setup.task.build(setup, cell, card.seed)
        model.load_state_dict(load_file(directory / WEIGHTS))
        tokenizer = Tokenizer.from_file(str(directory / TOKENIZER))
        saved = card.sample_outputs.model_dump()
        if not allow_changed and not same_outputs(model, setup.task.sample_scores, saved):
            changed = card.changed(cell)
            raise ZooError(
                "gives other outputs here than when it was saved"
                f"{changed and f' (changed since: {changed})'}; it was trained with encoder-zoo "
                f"{card.zoo}; --allow-changed (allow_changed=True) loads it anyway"
            )
        text_model = setup.task.text_model(setup, model, tokenizer)
    except ZooError as error:
        raise ZooError(f"{directory}: {error}") from error
    except Exception as error:  # what torch, a library or a plug-in raises
        reason = f"cannot be built here, or its files do not match: {one_line(error)}"
        raise ZooError(f"{directory}: {reason}") from error
    text_model.card = card
    layers = range(1, card.sizes.layers + 1)
    text_model.layers_with_map = tuple(n for n in layers if cell.at("attention", n - 1).can("map"))
    return text_model.to(device).eval()
