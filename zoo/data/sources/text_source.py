"""Texts to predict or to continue, of a file, a directory or stdin, read when they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from zoo.config.reading import TABLES_ONLY, Reading, given_flags
from zoo.data.sources.class_folders import read_folder
from zoo.data.sources.data_file import DataFile, data_suffix, within
from zoo.data.sources.table_format import FORMATS, JSON_LINES
from zoo.data.sources.tables import READ_ALL, Placed, read_rows
from zoo.data.sources.text_columns import column_names, joined_text
from zoo.data.sources.text_encoding import encoding_of, text_lines, without_end, without_mark
from zoo.data.sources.usable_rows import dropped_rows, listed
from zoo.errors import ZooError, nearest

TEXT = "text"  # the column that is read by default
PIPE = "-"  # stdin, given as a file


def read_texts(
    source: str,
    column: str = TEXT,
    what: str = "text",
    reading: Reading = READ_ALL,
    notices: list[str] | None = None,
) -> Iterator[str]:
    """The texts of a file, or of stdin for ``-``, read as they are asked for.

    Of a table, told by its ending or because ``reading`` says so, a column or several; of any
    other file every line; of a directory every file. what: how an error names a text. notices: what
    a user should know is added to it, at the latest after the last text. Raises ZooError, naming
    the line or row, for an empty text, whatever cannot be read and an option without effect, and at
    the end of a file that contains none.
    """
    notices = [] if notices is None else notices
    file = None if source == PIPE else within(Path(source).expanduser())
    name = "stdin" if file is None else str(file)
    of_tables = [f for n, f in given_flags(reading).items() if n in (*TABLES_ONLY, "file_format")]
    is_folder = file is not None and file.is_dir()
    is_table = False
    if file is not None and not is_folder:
        is_table = bool(of_tables) or data_suffix(file) in FORMATS
    if not is_table and (flags := [*of_tables, *(["--text-column"] if column != TEXT else [])]):
        held = "every file is a text" if is_folder else "every line is a text"
        raise ZooError(f"{listed(flags)}: for tables, and of {name} {held}")
    if file is None:
        texts = _of_lines(name, None, without_mark(reading.encoding))
    elif is_folder:
        rows_of = read_folder(file, reading.encoding, notices)
        texts = _of_rows(str(file), rows_of, [TEXT])
    elif is_table:
        texts = _of_table(file, column_names(column), reading, notices)
    else:
        texts = _of_lines(name, file, encoding_of(file, reading.encoding, notices))
    found, rows, bad = False, 0, dict[str, ZooError]()
    for place, text in texts:
        rows += 1
        if isinstance(text, str):
            found = True
            yield text
        elif not reading.drop_bad_rows:
            raise text
        else:
            bad[place] = text
    if bad:
        notices.append(dropped_rows(name, bad, rows))
    if not found:
        raise ZooError(f"{name} contains no {what}")


def _of_lines(
    name: str, file: DataFile | None, encoding: str
) -> Iterator[tuple[str, str | ZooError]]:
    for number, line in enumerate(text_lines(name, file, encoding), start=1):
        place, text = f"line {number}", without_end(line)
        if text.strip():
            yield place, text
        else:
            yield place, ZooError(f"{name}, {place} is empty: every line must hold a text")


def _of_table(
    file: DataFile, columns: list[str], reading: Reading, notices: list[str]
) -> Iterator[tuple[str, str | ZooError]]:
    # Rows of JSON may have different columns; of one that lacks its text, the line is named.
    is_table = data_suffix(file) not in (*JSON_LINES, ".json")
    for place, row in read_rows(file, reading, notices):
        if isinstance(row, ZooError):
            yield place, row
            continue
        for column in columns:
            if is_table and column not in row:
                raise ZooError(
                    f"{file} has no column '{column}' (--text-column){nearest(column, row)}"
                )
        yield from _of_rows(str(file), [(place, row)], columns)


def _of_rows(
    name: str, rows: Iterable[Placed], columns: list[str]
) -> Iterator[tuple[str, str | ZooError]]:
    for place, row in rows:
        try:
            if isinstance(row, ZooError):
                raise row
            yield place, joined_text(f"{name}, {place}", row, columns)
        except ZooError as error:
            yield place, error
