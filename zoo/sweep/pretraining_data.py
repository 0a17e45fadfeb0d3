"""What encoders begin with, put among the data: so it reaches every machine that runs a job."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.config.reading import Reading, TextReading
from zoo.config.request import Request
from zoo.config.settings import GIVEN_TEXTS, SAVED_MODEL, Pretraining
from zoo.data.sources.corpus import content_digest
from zoo.data.sources.load_data import TEXT, read_texts
from zoo.data.sources.tables import FORMATS, SEPARATORS
from zoo.data.sources.text_file import data_suffix, read_text, within
from zoo.errors import ZooError
from zoo.tasks.base import Loaded, TextParts
from zoo.tasks.encoder_task import without_scored


def with_pretraining(request: Request, loaded: Loaded) -> tuple[Loaded, Pretraining]:
    """The data with the weights of a saved model, or the texts of ``--pretrain-data``.

    Second, what records and jobs say of them: names and hashes in place of paths. Raises ZooError
    for texts that cannot be read, or are all in the test split.
    """
    pretraining, initial = request.pretraining, request.initial
    if initial is not None:
        encoded = loaded.encoded.with_file(SAVED_MODEL, initial.weights.read_bytes())
        named = pretraining.model_copy(update={"init": initial.name})
        return dataclasses.replace(loaded, encoded=encoded, spec=""), named
    if not pretraining.pretrain_data:
        return loaded, pretraining
    path = Path(pretraining.pretrain_data).expanduser()
    notices = list(loaded.notices)
    given = read_parts(path, request.task_options, notices)
    corpus: Any = loaded.encoded
    parts = {split: texts for split, texts, _ in corpus.corpus().splits() if split != "train"}
    scored = [text for texts in parts.values() for text in texts]
    texts, left_out = without_scored(given, scored)
    if left_out:
        are = f"{left_out} of the test texts {'is' if left_out == 1 else 'are'}"
        notices.append(f"{are} in {path.name}: not pretrained on")
    if not texts:
        raise ZooError(f"--pretrain-data {path}: every text in it is a test text")
    content = json.dumps(texts, ensure_ascii=False).encode()
    encoded = loaded.encoded.with_file(GIVEN_TEXTS, content)
    digest = content_digest(part for text in texts for part in text)
    name = f"{path.resolve().name} ({digest[:12]})"
    named = pretraining.model_copy(update={"pretrain_data": name})
    return dataclasses.replace(loaded, encoded=encoded, spec="", notices=notices), named


def read_parts(path: Path, options: Mapping[str, Any], notices: list[str]) -> TextParts:
    """The texts of a table, or of every file of a directory; another file is one text.

    A text of a table is one part; others have their lines as parts. options: of the task, which
    say how tables are read. notices: what was guessed is added to it. Raises ZooError where the
    file cannot be read or has no text.
    """
    file = within(path)
    suffix = data_suffix(file)
    fields = (Reading if suffix in SEPARATORS else TextReading).model_fields
    how = {name: options[name] for name in fields if name in options}
    reading = Reading.model_validate({**how, "file_format": "auto"})
    if file.is_dir():
        return [_lines(t) for t in read_texts(str(path), reading=reading, notices=notices)]
    if suffix in FORMATS:
        column = options.get("text_column", TEXT)
        return [[t] for t in read_texts(str(path), column, reading=reading, notices=notices)]
    if not (lines := _lines(read_text(file, reading, notices))):
        raise ZooError(f"{path} contains no text")
    return [lines]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
