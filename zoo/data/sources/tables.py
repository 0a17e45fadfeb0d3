"""Reading CSV, TSV, JSON lines, JSON and Parquet row by row, and UTF-8 text line by line."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from zoo.errors import ZooError, nearest, one_line

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON = (".jsonl", ".ndjson", ".json")
FORMATS = (*SEPARATORS, *JSON, ".parquet")
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


def read_texts(source: str, column: str = "text") -> Iterator[str]:
    """The texts of a file, or of stdin for ``-``, read as they are asked for.

    The file's suffix decides: of CSV, TSV or JSON lines a column, of any other file every line.
    Raises ZooError, naming the line or row, for an empty text and whatever cannot be read.
    """
    for where, text in _placed_texts(source, column):
        if not text.strip():
            raise ZooError(f"{where} is empty: every line must hold a text")
        yield text


def _placed_texts(source: str, column: str) -> Iterator[tuple[str, str]]:
    path = Path(source)
    suffix = path.suffix.lower()
    if source != PIPE and suffix in (*SEPARATORS, ".jsonl", ".ndjson"):
        for place, row in read_rows(path):
            if suffix in SEPARATORS and column not in row:
                raise ZooError(
                    f"{path} has no column '{column}' (--text-column){nearest(column, row)}"
                )
            text = row.get(column)
            if not isinstance(text, str):
                raise ZooError(f"{path}, {place}: '{column}' (--text-column) is not text")
            yield f"{path}, {place}", text
        return
    name = "stdin" if source == PIPE else str(path)
    try:
        with (
            contextlib.nullcontext(sys.stdin.buffer) if source == PIPE else path.open("rb") as file
        ):
            for number, line in enumerate(text_lines(name, file), start=1):
                yield f"{name}, line {number}", line
    except OSError as error:
        raise ZooError(f"{name} cannot be read: {error.strerror}") from error


def text_lines(name: str, file: BinaryIO) -> Iterator[str]:
    """Lines of UTF-8 without their end; only a newline ends a line, and a byte order mark goes.

    Raises ZooError with the line's number where it is not UTF-8.
    """
    for number, line in enumerate(file, start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise ZooError(f"{name} is not UTF-8: byte 0x{byte:02x} in line {number}") from error
        yield text.removesuffix("\n").removesuffix("\r")


def read_utf8(path: Path) -> str:
    """A whole file as text; ZooError where it cannot be read or is not UTF-8."""
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ZooError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ZooError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} in line {line}"
        ) from error


def _csv_rows(path: Path, separator: str, chunk: int) -> Iterator[Row]:
    import pandas as pd

    try:
        # Everything stays text: a document may well read "null", and a label "007".
        frames = pd.read_csv(
            path,
            sep=separator,
            dtype=str,
            keep_default_na=False,
            encoding="utf-8-sig",
            chunksize=chunk,
        )
    except pd.errors.EmptyDataError:
        return
    with frames:
        for frame in frames:
            if not isinstance(frame.index, pd.RangeIndex):
                raise ZooError(f"{path} has rows with more fields than its header names")
            names = [str(column) for column in frame.columns]
            for cells in frame.itertuples(index=False, name=None):
                yield dict(zip(names, cells, strict=True))


def _json_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Rows of JSON lines, or of one JSON array of objects.

    Not by pandas, whose errors name no line, and which changes values of mixed types.
    """
    with path.open("rb") as file:
        is_array = file.peek(64)[:64].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
        items = _parsed(path) if is_array else text_lines(str(path), file)
        for number, row in enumerate(items, start=1):
            place = f"{'row' if is_array else 'line'} {number}"
            if not is_array:
                if not row.strip():
                    continue
                row = _parsed(path, row, f" in {place}")
            if not isinstance(row, dict):
                raise ZooError(f"{path}, {place} is no object but a {type(row).__name__}")
            yield place, row


def _parsed(path: Path, text: str | None = None, where: str = "") -> Any:
    """The value of a JSON text, or of the whole file."""
    try:
        return json.loads(read_utf8(path) if text is None else text)
    except json.JSONDecodeError as error:
        where = where or f" in line {error.lineno}"
        raise ZooError(
            f"{path} is broken JSON{where}, column {error.colno}: {error.msg}"
        ) from error
    except RecursionError as error:
        raise ZooError(f"{path} is broken JSON{where}: it is nested too deeply") from error
