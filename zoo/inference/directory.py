"""A kept model's directory: written whole or not at all, and read with distrust. No torch here."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from zoo.errors import ZooError
from zoo.inference.card import FORMAT, SCHEMA_VERSION, Card, written_by_newer

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"


def refuse_taken(directory: Path) -> None:
    """ZooError where a model cannot be written here: something is there, or nobody may write."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ZooError(f"{directory} exists already; nothing is written over")
    try:
        directory.absolute().parent.mkdir(parents=True, exist_ok=True)
        writable = os.access(directory.absolute().parent, os.W_OK)
    except OSError as error:
        raise ZooError(f"cannot write to {directory}: {error.strerror}") from error
    if not writable:
        raise ZooError(f"cannot write to {directory}: no permission")


@contextlib.contextmanager
def draft(final: Path) -> Iterator[Path]:
    """An empty directory that becomes the final one, at once, when the block ends well.

    Raises ZooError where it cannot be written; then, and however else the block ends, nothing
    is left.
    """
    refuse_taken(final)
    final = final.absolute()
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{final.name}.", suffix=".draft", dir=final.parent))
        try:
            yield work
            for file in work.iterdir():
                _onto_disk(file)
            work.chmod(0o755)  # mkdtemp's 0700 would shut out those a model is shared with
            os.replace(work, final)
            _onto_disk(final.parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise ZooError(f"cannot write to {final}: {error.strerror or error}") from error


def write(directory: Path, card: Card, weights: Path, tokenizer: Path) -> None:
    """Put the three files of a model into a directory, the card last."""
    shutil.copyfile(weights, directory / WEIGHTS)
    shutil.copyfile(tokenizer, directory / TOKENIZER)
    digests = {name: digest(directory / name) for name in (WEIGHTS, TOKENIZER)}
    whole = card.model_copy(update={"files": digests}).model_dump()
    text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
    (directory / CONFIG).write_text(text + "\n", encoding="utf-8")


def read(directory: Path) -> Card:
    """The card of a kept model, whose files are all there and are what was written.

    Raises ZooError for whatever else the directory is.
    """
    if not directory.exists():
        raise ZooError(f"no directory '{directory}'; 'zoo train --save' makes one")
    if not (directory / CONFIG).is_file():
        raise ZooError(f"{directory} holds no model: it has no {CONFIG}")
    card = _card(directory / CONFIG)
    for name in (WEIGHTS, TOKENIZER):
        file = directory / name
        if not file.is_file():
            raise ZooError(f"{directory} is not whole: {name} is missing")
        if digest(file) != card.files.get(name):
            raise ZooError(f"{file} is damaged, or not the file that was saved with {CONFIG}")
    return card


def _card(file: Path) -> Card:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ZooError(f"{file} cannot be read, it may be cut short: {error}") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ZooError(f"{file} is not the zoo's: it does not say 'format': '{FORMAT}'")
    if written_by_newer(value):
        raise ZooError(
            f"{file} was written by a newer zoo (schema {value['schema_version']}; this one reads "
            f"{SCHEMA_VERSION}): upgrade encoder-zoo"
        )
    try:
        return Card.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "it"
        raise ZooError(f"{file} describes no model: {field}: {first['msg']}") from None


def digest(file: Path) -> str:
    """SHA-256 in hex."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ZooError(f"{file} cannot be read: {error.strerror}") from error


def _onto_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
