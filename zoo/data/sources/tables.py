"""Reading CSV, TSV, JSON lines, JSON and Parquet row by row, and UTF-8 text line by line."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from zoo.errors import ZooError, nearest, one_line

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
FORMATS = (*SEPARATORS, *JSON_LINES, ".json", ".parquet")
PIPE = "-"  # stdin, given as a file

Row = dict[str, Any]


def read_rows(path: Path, chunk: int = 1000) -> Iterator[tuple[str, Row]]:
    """Each row by column name, after its place: ``row 2``, in JSON lines ``line 2``.

    CSV, TSV and JSON lines are read as the rows are asked for. chunk: rows of CSV or TSV read at
    once. Every cell of CSV and TSV is text, empty where a row is too short.
    Raises ZooError, naming the place where it is known, for what cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ZooError(f"{path} is of no format the zoo reads ({', '.join(FORMATS)})")
    try:
        if suffix == ".parquet":
            import pyarrow.parquet

            rows: Iterator[Any] = iter(pyarrow.parquet.read_table(path).to_pylist())
        elif suffix in SEPARATORS:
            rows = _csv_rows(path, SEPARATORS[suffix], chunk)
        else:
            yield from _json_rows(path)
            return
        for number, row in enumerate(rows, start=1):
            yield f"row {number}", row
    except UnicodeDecodeError as error:
        read_utf8(path)  # names the line; pandas does not
        raise ZooError(f"{path} is not UTF-8: {one_line(error)}") from error
    except OSError as error:
        raise ZooError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, NotImplementedError) as error:  # as pandas and pyarrow raise them
        raise ZooError(f"{path} cannot be read: {one_line(error)}") from error


def read_texts(source: str, column: str = "text", what: str = "text") -> Iterator[str]:
    """The texts of a file, or of stdin for ``-``, read as they are asked for.

    The file's suffix decides: of CSV, TSV or JSON lines a column, of any other file every line.
    what: how an error names one. Raises ZooError, naming the line or row, for an empty text and
    whatever cannot be read, and at the end of a file that contains none.
    """
    path, name = Path(source), "stdin" if source == PIPE else source
    if source != PIPE and path.suffix.lower() in (*SEPARATORS, *JSON_LINES):
        placed = ((place, _cell(path, place, row, column)) for place, row in read_rows(path))
    else:
        lines = text_lines(name, None if source == PIPE else path)
        placed = ((f"line {number}", line) for number, line in enumerate(lines, start=1))
    place = ""
    for place, text in placed:
        if not text.strip():
            raise ZooError(f"{name}, {place} is empty: every line must hold a text")
        yield text
    if not place:
        raise ZooError(f"{name} contains no {what}")


def _cell(path: Path, place: str, row: Row, column: str) -> str:
    """The text in a column of a row."""
    if path.suffix.lower() in SEPARATORS and column not in row:
        raise ZooError(f"{path} has no column '{column}' (--text-column){nearest(column, row)}")
    text = row.get(column)
    if not isinstance(text, str):
        raise ZooError(f"{path}, {place}: '{column}' (--text-column) is not text")
    return text


def text_lines(name: str, path: Path | None, *, ends: bool = False) -> Iterator[str]:
    """Lines of UTF-8; only a newline ends a line, and a byte order mark goes.

    path: None for stdin. ends: keep the ends of the lines.
    Raises ZooError where it cannot be read or, with the line's number, is not UTF-8.
    """
    stdin = contextlib.nullcontext(sys.stdin.buffer)
    try:
        opened: contextlib.AbstractContextManager[BinaryIO] = path.open("rb") if path else stdin
        with opened as file:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield text if ends else text.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ZooError(f"{name} is not UTF-8: byte 0x{byte:02x} in line {number}") from error
    except OSError as error:
        raise ZooError(f"{name} cannot be read: {error.strerror}") from error


def read_utf8(path: Path) -> str:
    """A whole file as text; ZooError where it cannot be read or is not UTF-8."""
    return "".join(text_lines(str(path), path, ends=True))


def _csv_rows(path: Path, separator: str, chunk: int) -> Iterator[Row]:
    import pandas as pd

    # Everything stays text: a document may well read "null", and a label "007".
    options: Any = {"dtype": str, "keep_default_na": False, "encoding": "utf-8-sig"}
    try:
        frames = pd.read_csv(path, sep=separator, chunksize=chunk, **options)
    except pd.errors.EmptyDataError:
        return
    with frames:
        for frame in frames:
            if not isinstance(frame.index, pd.RangeIndex):
                raise ZooError(f"{path} has rows with more fields than its header names")
            yield from cast("list[Row]", frame.to_dict("records"))


def _json_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Rows of JSON lines, or of one JSON array of objects.

    Not by pandas, whose errors name no line, and which changes values of mixed types.
    """
    with path.open("rb") as file:
        is_array = file.peek(64)[:64].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    items = _parsed(path, read_utf8(path)) if is_array else text_lines(str(path), path)
    for number, row in enumerate(items, start=1):
        place = f"{'row' if is_array else 'line'} {number}"
        if not is_array:
            if not row.strip():
                continue
            row = _parsed(path, row, number)
        if not isinstance(row, dict):
            raise ZooError(f"{path}, {place} is no object but a {type(row).__name__}")
        yield place, row


def _parsed(path: Path, text: str, line: int = 1) -> Any:
    """The value of a JSON text that begins in this line of the file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {line + error.lineno - 1}, column {error.colno}: {error.msg}"
        raise ZooError(f"{path} is broken JSON in {place}") from error
    except RecursionError as error:
        raise ZooError(f"{path} is broken JSON: it is nested too deeply") from error
