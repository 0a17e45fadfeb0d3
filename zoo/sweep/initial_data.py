"""What encoders begin with, put among the data: so it reaches every machine that runs a job."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from zoo.config.pretraining import GIVEN_TEXTS, SAVED_MODEL, Pretraining
from zoo.config.request import Request
from zoo.data.sources.corpus import content_digest
from zoo.data.sources.tables import JSON_LINES, SEPARATORS, read_texts, read_utf8
from zoo.errors import ZooError
from zoo.tasks.base import Loaded, TextParts
from zoo.tasks.encoder_task import without_scored


def with_initial(request: Request, loaded: Loaded) -> tuple[Loaded, Pretraining]:
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
    given = read_parts(path, request.task_options.get("text_column", "text"))
    corpus: Any = loaded.encoded
    parts = {split: texts for split, texts, _ in corpus.corpus().splits() if split != "train"}
    scored = [text for texts in parts.values() for text in texts]
    texts, left_out = without_scored(given, scored)
    notices = list(loaded.notices)
    if left_out:
        notices.append(f"{left_out} of the test texts are in {path.name}: not pretrained on")
    if not texts:
        raise ZooError(f"--pretrain-data {path}: every text in it is a test text")
    content = json.dumps(texts, ensure_ascii=False).encode()
    encoded = loaded.encoded.with_file(GIVEN_TEXTS, content)
    digest = content_digest(part for text in texts for part in text)
    name = f"{path.resolve().name} ({digest[:12]})"
    named = pretraining.model_copy(update={"pretrain_data": name})
    return dataclasses.replace(loaded, encoded=encoded, spec="", notices=notices), named


def read_parts(path: Path, column: str) -> TextParts:
    """The texts of a file: each row of a table; anything else is one text of many lines.

    Raises ZooError where it cannot be read or has no text.
    """
    if path.suffix.lower() in (*SEPARATORS, *JSON_LINES):
        return [[text] for text in read_texts(str(path), column)]
    lines = [line for line in read_utf8(path).splitlines() if line.strip()]
    if not lines:
        raise ZooError(f"{path} contains no text")
    return [lines]
