"""Texts from a file or a pipe, one at a time, however many there are. No torch here."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from zoo.errors import ZooError, nearest

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PIPE = "-"


def read_texts(source: str, column: str = "text") -> Iterator[str]:
    """The texts of a file, or of stdin for ``-``, as they are asked for.

    A column of CSV, TSV or JSON lines by the name's ending; of any other file every line.
    Raises ZooError, naming the line, for an empty text and whatever cannot be read.
    """
    if source == PIPE:
        yield from _nonempty(enumerate(_lines("stdin", sys.stdin.buffer), start=1), "stdin")
        return
    path, suffix = Path(source), Path(source).suffix.lower()
    try:
        stream = path.open("rb")
    except OSError as error:
        raise ZooError(f"{path} cannot be read: {error.strerror}") from error
    with stream:
        lines = _lines(str(path), stream)
        if suffix in SEPARATORS:
            texts = _from_csv(str(path), lines, SEPARATORS[suffix], column)
        elif suffix in JSON_LINES:
            texts = _from_json(str(path), lines, column)
        else:
            texts = enumerate(lines, start=1)
        yield from _nonempty(texts, str(path))


def _lines(name: str, stream: BinaryIO) -> Iterator[str]:
    """Lines without their end; only a newline ends one."""
    for number, line in enumerate(stream, start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ZooError(
                f"{name} is not UTF-8: byte 0x{line[error.start]:02x} in line {number}"
            ) from error
        yield text.removesuffix("\n").removesuffix("\r")


def _nonempty(texts: Iterable[tuple[int, str]], name: str) -> Iterator[str]:
    for number, text in texts:
        if not text.strip():
            raise ZooError(f"{name}, line {number} is empty: every line must hold a text")
        yield text


def _from_csv(
    name: str, lines: Iterator[str], separator: str, column: str
) -> Iterator[tuple[int, str]]:
    """Line number and text of every row."""
    csv.field_size_limit(2**31 - 1)  # a document may be longer than csv's own limit
    rows = csv.reader((line + "\n" for line in lines), delimiter=separator)
    try:
        header = next(rows, [])
        if column not in header:
            raise ZooError(
                f"{name} has no column '{column}' (--text-column){nearest(column, header)}"
            )
        place = header.index(column)
        for row in rows:
            if row:
                yield rows.line_num, row[place] if place < len(row) else ""
    except csv.Error as error:
        raise ZooError(f"{name} cannot be read: line {rows.line_num}: {error}") from error


def _from_json(name: str, lines: Iterator[str], column: str) -> Iterator[tuple[int, str]]:
    """Line number and text of every row."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ZooError(f"{name} is broken JSON in line {number}: {error}") from error
        text = row.get(column) if isinstance(row, dict) else None
        if not isinstance(text, str):
            raise ZooError(f"{name}, line {number}: '{column}' (--text-column) is no text")
        yield number, text
