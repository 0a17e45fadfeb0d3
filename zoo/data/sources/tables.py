"""Reading rows of CSV, TSV, JSON lines, JSON, Parquet, and of lines with a label and a text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from zoo.config.reading import DELIMITERS, TABLES_ONLY, Reading, TextReading, given_flags
from zoo.data.sources.data_file import DataFile, explained, opened
from zoo.data.sources.delimited import delimited_rows, quotes_fit
from zoo.data.sources.table_format import LABEL_TEXT, PREFIX, format_of
from zoo.data.sources.text_encoding import UTF8, encoding_of, text_lines, without_end
from zoo.errors import ZooError, one_line

READ_ALL = Reading()

Row = dict[str, Any]
Placed = tuple[str, Row | ZooError]  # a row, or what is wrong with it, after its place


def read_rows(
    file: DataFile, reading: Reading = READ_ALL, notices: list[str] | None = None
) -> Iterator[Placed]:
    """Each row by column name, or the error of one that is broken, after its place: ``line 2``.

    Tables of text and JSON lines are read as the rows are asked for. Every cell of a table of text
    is text, empty where a row is too short. notices: what was guessed is added to it.
    Raises ZooError for a file that cannot be read.
    """
    notices = [] if notices is None else notices
    form, delimiter = format_of(file, reading, notices)
    if form not in ("csv", "tsv"):
        for name, flag in given_flags(reading).items():
            if name in TABLES_ONLY:
                raise ZooError(f"{flag}: for tables of text, and {file} is {form}")
    if form == "parquet":
        if reading.encoding:
            raise ZooError(f"--encoding: for text, and {file} is parquet")
        yield from _parquet_rows(file)
    elif form in ("json", "jsonl"):
        yield from _json_rows(file, reading)
    else:
        encoding = encoding_of(file, reading.encoding, notices)
        lines = text_lines(str(file), file, encoding)
        if form == LABEL_TEXT:
            yield from _label_text_rows(lines)
            return
        quotes = reading.quotes
        if quotes is None:
            tab = DELIMITERS["tab"]
            quotes = delimiter != tab or quotes_fit(text_lines(str(file), file, encoding), tab)
        yield from delimited_rows(
            str(file), lines, delimiter, notices, header=reading.header, quotes=quotes
        )


def _label_text_rows(lines: Iterator[str]) -> Iterator[Placed]:
    """The first word of a line is ``label``, the rest ``text``; ``coarse_label``: up to a colon."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        label, *text = line.split(maxsplit=1)
        label = label.removeprefix(PREFIX)
        row = {"label": label, "text": "".join(text).strip()}
        yield f"line {number}", {**row, "coarse_label": label.partition(":")[0]}


def _parquet_rows(file: DataFile) -> Iterator[Placed]:
    import pyarrow.parquet

    try:
        with explained(file), opened(file) as stream:
            rows = pyarrow.parquet.read_table(stream).to_pylist()
    except (ValueError, NotImplementedError) as error:  # as pyarrow raises them
        raise ZooError(f"{file} cannot be read: {one_line(error)}") from error
    for number, row in enumerate(rows, start=1):
        yield f"row {number}", row


def _json_rows(file: DataFile, reading: TextReading) -> Iterator[Placed]:
    """Rows of JSON lines, or of one JSON array of objects.

    Not by pandas, whose errors name no line, and which changes values of mixed types. JSON is
    UTF-8, and no other encoding is guessed.
    """
    encoding = encoding_of(file, reading.encoding, []) if reading.encoding else UTF8
    lines = text_lines(str(file), file, encoding)
    text = next((line for line in lines if line.strip()), "")
    is_array = text.lstrip().startswith("[")
    lines = text_lines(str(file), file, encoding)
    items: Any = _parsed(file, "".join(lines)) if is_array else lines
    for number, item in enumerate(items, start=1):
        place, row = f"{'row' if is_array else 'line'} {number}", item
        if not is_array:
            if not item.strip():
                continue
            try:
                row = _parsed(file, without_end(item), number)
            except ZooError as error:
                row = error
        if not isinstance(row, dict | ZooError):
            row = ZooError(f"{file}, {place} is no object but a {type(row).__name__}")
        yield place, row


def _parsed(file: DataFile, text: str, line: int = 1) -> Any:
    """The value of a JSON text that begins in this line of the file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {line + error.lineno - 1}, column {error.colno}: {error.msg}"
        raise ZooError(f"{file} is broken JSON in {place}") from error
    except RecursionError as error:
        raise ZooError(f"{file} is broken JSON: it is nested too deeply") from error
