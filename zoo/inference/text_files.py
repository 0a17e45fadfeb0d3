"""Texts from a file or a pipe, one at a time, however many there are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from zoo.data.sources.tables import SEPARATORS, read_rows, text_lines
from zoo.errors import ZooError, nearest

TABLES = (*SEPARATORS, ".jsonl", ".ndjson")
PIPE = "-"


def read_texts(source: str, column: str = "text") -> Iterator[str]:
    """The texts of a file, or of stdin for ``-``, read as they are asked for.

    The file's suffix decides: of CSV, TSV or JSON lines a column, of any other file every line.
    Raises ZooError, naming the line or row, for an empty text and whatever cannot be read.
    """
    path = Path(source)
    if source == PIPE:
        yield from _lines("stdin", sys.stdin.buffer)
    elif path.suffix.lower() in TABLES:
        for place, row in read_rows(path):
            if path.suffix.lower() in SEPARATORS and column not in row:
                raise ZooError(
                    f"{path} has no column '{column}' (--text-column){nearest(column, row)}"
                )
            text = row.get(column)
            if not isinstance(text, str):
                raise ZooError(f"{path}, {place}: '{column}' (--text-column) is not text")
            yield _not_empty(f"{path}, {place}", text)
    else:
        try:
            with path.open("rb") as file:
                yield from _lines(str(path), file)
        except OSError as error:
            raise ZooError(f"{path} cannot be read: {error.strerror}") from error


def _lines(name: str, file: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(text_lines(name, file), start=1):
        yield _not_empty(f"{name}, line {number}", line)


def _not_empty(where: str, text: str) -> str:
    if not text.strip():
        raise ZooError(f"{where} is empty: every line must hold a text")
    return text
