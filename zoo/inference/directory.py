"""The directory of a saved model: written whole or not at all, and checked when it is read.

No torch here.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from zoo.config.places import refuse_unwritable
from zoo.data.cache import damaged_file, file_digest
from zoo.data.tokenizer import CLS, MASK, PAD, UNK
from zoo.errors import ZooError
from zoo.files import draft_directory, write_error
from zoo.inference.card import FORMAT, MODEL_TYPE, SCHEMA_VERSION, Card, first_error

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"  # for Transformers; the zoo does not read it


class TakenError(ZooError):
    """Something is already where a model should be written."""


def refuse_taken(directory: Path) -> None:
    """TakenError where something is there; ZooError where the directory cannot be made."""
    if os.path.lexists(directory) and (not directory.is_dir() or any(directory.iterdir())):
        raise TakenError(f"{directory} exists already; choose another directory")
    refuse_unwritable(directory)


@contextlib.contextmanager
def draft(final: Path) -> Iterator[Path]:
    """An empty directory that is renamed to the final one when the block ends without error.

    If the block raises, nothing is left. Raises TakenError where the directory exists by the end
    of the block or before, WriteError where it cannot be written.
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
    if not (directory / CONFIG).is_file():
        raise ZooError(f"{directory} holds no model: it has no {CONFIG}")
    card = _card(directory / CONFIG)
    for name in (WEIGHTS, TOKENIZER):
        if not (directory / name).is_file():
            raise ZooError(f"{directory} is incomplete: {name} is missing")
        if damaged_file(directory, {name: card.files.get(name, "")}):
            raise ZooError(
                f"{directory / name} is damaged, or not the file that was saved with {CONFIG}"
            )
    return card


def _card(file: Path) -> Card:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ZooError(f"{file} cannot be read, it may be cut short: {error}") from error
    found = value if isinstance(value, dict) else {}
    if "format" not in found and found.get("model_type") == MODEL_TYPE:
        raise ZooError(
            f"{file} was saved by Transformers: load it with AutoModel after 'import zoo_hf'"
        )
    if found.get("format") != FORMAT:
        raise ZooError(f"{file} does not describe a model: it has no 'format': '{FORMAT}'")
    version = found.get("schema_version")
    if isinstance(version, int) and version != SCHEMA_VERSION:
        which, do = ("an older", "train the model again")
        if version > SCHEMA_VERSION:
            which, do = ("a newer", "upgrade encoder-zoo")
        known = f"schema {version}; this one reads {SCHEMA_VERSION}"
        raise ZooError(f"{file} was written by {which} zoo ({known}): {do}")
    try:
        return Card.model_validate(value)
    except ValidationError as error:
        raise ZooError(f"{file} does not describe a model: {first_error(error)}") from None
