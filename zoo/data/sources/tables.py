"""Rows of a file: CSV, TSV, JSON, JSON lines, Parquet, or lines with a label and a text.

The format is given, or told by the ending, or by what is in the file.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from zoo.config.reading import DELIMITERS, TABLES_ONLY, WORDS, Reading, given_flags
from zoo.data.sources.text_file import (
    MARKS,
    UTF8,
    DataFile,
    data_suffix,
    decoded,
    holds_nul,
    read_bytes,
    refuse_long_lines,
    without_end,
)
from zoo.errors import ZooError, one_line

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
FORMATS = (*SEPARATORS, *JSON_LINES, ".json", ".parquet")
NAMES_COLUMN = "label_text"  # of the names of labels that are numbers
CSV, LABEL_TEXT, PARQUET = "csv", "label-text", "parquet"
PREFIX = "__label__"  # of the labels in files of fastText
SAMPLE = 100  # lines by which the format of a file is told
FEW = 50  # a column with more different values holds no labels
NO_QUOTES = "if quotes are plain characters in this file, say --no-quotes"

Row = dict[str, Any]
Placed = tuple[str, Row | ZooError]  # a row, or what is wrong with it, after its place: ``line 3``
X = TypeVar("X")


class TableRow(NamedTuple):
    """One row of a table of text: the number of its first line, from 1, its lines, its fields."""

    line: int
    lines: list[str]
    fields: list[str]


def read_rows(file: DataFile, reading: Reading, notices: list[str]) -> Iterable[Placed]:
    """Each row by column name, or the error of one that is broken, after its place.

    Every cell of a table of text is text, empty where a row is too short. notices: what was guessed
    is added to it. Raises ZooError for a file that cannot be read.
    """
    content, suffix = read_bytes(file, reading), data_suffix(file)
    delimiter = DELIMITERS.get(reading.delimiter, reading.delimiter)
    form: str = reading.file_format
    if form == "auto":
        known = "jsonl" if suffix in JSON_LINES else suffix[1:]
        form = known if suffix in FORMATS else CSV if delimiter else ""
    is_text = b"\0" not in content[:1000] or content.startswith(tuple(MARKS))
    if not (form or reading.encoding or is_text):
        raise _no_format(file)
    text = ""
    if form != PARQUET:  # JSON is UTF-8, and no other encoding is guessed
        encoding = reading.encoding or (UTF8 if form.startswith("json") else "")
        if not content.lstrip().startswith(b"["):  # of JSON, which may be in one line
            refuse_long_lines(file, content, reading)
        (text,) = decoded([(file, content)], encoding, notices)
        if "\0" in text and form.startswith("json"):
            raise holds_nul(file, text)
    if not form or (form == CSV and not delimiter and reading.file_format == "auto"):
        form, delimiter = _guess(file, text, form, notices)
    of_tables = [flag for name, flag in given_flags(reading).items() if name in TABLES_ONLY]
    if of_tables and form not in (CSV, "tsv"):
        raise ZooError(f"{of_tables[0]}: for tables of text, and {file} is {form}")
    if reading.encoding and form == PARQUET:
        raise ZooError(f"--encoding: for text, and {file} is parquet")
    if form == PARQUET:
        return _parquet_rows(file, content)
    if form.startswith("json"):
        return _json_rows(file, text)
    if form == LABEL_TEXT:
        return _label_text_rows(text)
    delimiter = delimiter or SEPARATORS[f".{form}"]
    quotes = True if reading.quotes is None and delimiter != "\t" else reading.quotes
    return delimited_rows(str(file), text, delimiter, notices, header=reading.header, quotes=quotes)


def numbered(rows: Iterable[X], what: str = "line") -> Iterator[tuple[str, X]]:
    """Each row after its place: ``line 1``, ``line 2``."""
    return ((f"{what} {number}", row) for number, row in enumerate(rows, start=1))


def name_classes(rows: Sequence[Row], features: Mapping[str, Any], label_column: str) -> None:
    """Have rows of ``datasets`` hold the names that their features give to numbers.

    Those of a column of lists take the place of the numbers; those of labels are ``label_text``.
    """

    def name(names: Any, code: Any, other: Any) -> Any:
        return names[code] if isinstance(code, int) and 0 <= code < len(names) else other

    for column, feature in features.items():
        names = getattr(feature, "names", None)
        of_items = getattr(getattr(feature, "feature", None), "names", None)
        for row in rows if of_items else ():
            row[column] = [name(of_items, code, code) for code in row[column] or []]
        if names and column == label_column and NAMES_COLUMN not in features:
            for row in rows:
                row[NAMES_COLUMN] = name(names, row[column], None)


def delimited_rows(
    name: str,
    text: str,
    delimiter: str,
    notices: list[str],
    *,
    header: bool = True,
    quotes: bool | None = True,
) -> Iterator[Placed]:
    """Each row of a table of text by column name; an error in place of a broken row.

    By csv and not by pandas, which tells no lines and mends rows in silence. header: the first line
    names the columns; else their names are the numbers from 1. A row that is too short has empty
    cells at its end. quotes: double quotes enclose a field, in which there may be delimiters and
    line ends; None: if all of them fit, and no field consists of lines that are rows. Adds a notice
    where a field over several lines seems to hold rows: its quotes do not fit, or every line is a
    row with a known label. Raises ZooError for a quoted field without an end.
    """
    records = _records(text, delimiter, quotes is not False)
    if not records:
        return
    width = len(records[0].fields)
    if quotes is None and any(
        _wrong_quotes(record.lines, delimiter) or _are_rows(record.lines, delimiter, width)
        for record in records
    ):
        quotes, records = False, _records(text, delimiter, quotes=False)
    alone = [record.fields for record in records if len(record.lines) == 1]
    columns = map(set, itertools.zip_longest(*alone, fillvalue=""))
    labels = {n: seen for n, seen in enumerate(columns) if n < width and len(seen) <= FEW}
    odd = []
    for record in records if quotes is not False else ():
        problem = _wrong_quotes(record.lines, delimiter) if len(record.lines) > 1 else ""
        if "end of data" in problem:
            raise ZooError(f"{name}, line {record.line}: a quoted field has no end; {NO_QUOTES}")
        if problem or _are_rows(record.lines, delimiter, width, labels):
            odd.append(record)
    if odd:
        line, swallowed, _ = odd[0]
        more = f" ({len(odd)} such fields, this is the first)" if len(odd) > 1 else ""
        notices.append(
            f"{name}, lines {line} to {line + len(swallowed) - 1}: one quoted field goes over "
            f"{len(swallowed)} lines and seems to have swallowed rows{more}; {NO_QUOTES}"
        )
    numbers = [str(number) for number in range(1, len(records[0].fields) + 1)]
    names = _column_names(records[0].fields) if header else numbers
    if twice := [name for name in names if name.rpartition(".")[0] in names] if header else []:
        given = twice[0].rpartition(".")[0]
        notices.append(f"{name} has a second column '{given}', which is called '{twice[0]}' here")
    first = "its header" if header else f"line {records[0].line}"
    for record in records[header:]:
        place, cells = f"line {record.line}", record.fields
        if any(cell.strip() for cell in cells[len(names) :]):
            fields = f"{len(cells)} fields, where {first} has {len(names)}"
            yield place, ZooError(f"{name}, {place} has more fields than {first}: {fields}")
        else:
            yield place, dict(itertools.zip_longest(names, cells[: len(names)], fillvalue=""))


def _records(text: str, delimiter: str, quotes: bool) -> list[TableRow]:
    """The rows of a table, without empty lines.

    With quotes a carriage return alone ends a line too, as spreadsheets have it.
    """
    if not quotes:
        plain = enumerate(map(without_end, text.split("\n")), start=1)
        return [TableRow(n, [line], line.split(delimiter)) for n, line in plain if line]
    csv.field_size_limit(2**31 - 1)
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(lines, delimiter=delimiter)
    found, line = [], 1
    for fields in reader:
        if fields:
            found.append(TableRow(line, lines[line - 1 : reader.line_num], fields))
        line = reader.line_num + 1
    return found


def _column_names(fields: Sequence[str]) -> list[str]:
    """The columns of a header; one without a name is its number, and a second of a name differs."""
    names: list[str] = []
    for number, field in enumerate(fields, start=1):
        name = field.strip() or str(number)
        names.append(f"{name}.{number}" if name in names else name)
    return names


def _wrong_quotes(lines: Sequence[str], delimiter: str) -> str:
    """Why the quotes in the lines of a row cannot enclose fields; empty where they can."""
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return str(error)
    return ""


def _are_rows(
    lines: Sequence[str],
    delimiter: str,
    width: int,
    labels: Mapping[int, set[str]] | None = None,
) -> bool:
    """Whether the lines of a row are, one by one, rows of so many columns.

    labels: of each column that may hold them, those of other rows; every line has to have one.
    """
    if len(lines) == 1 or any(line.count(delimiter) != width - 1 for line in lines):
        return False
    rows = [without_end(line).split(delimiter) for line in lines]
    return labels is None or any(
        all(row[column].strip('"') in seen for row in rows) for column, seen in labels.items()
    )


def _label_text_rows(text: str) -> Iterator[Placed]:
    """The first word of a line is ``label``, the rest ``text``; ``coarse_label``: up to a colon."""
    for place, line in numbered(text.split("\n")):
        if line.strip():
            label, *rest = line.split(maxsplit=1)
            label = label.removeprefix(PREFIX)
            row = {"label": label, "text": "".join(rest).strip()}
            yield place, {**row, "coarse_label": label.partition(":")[0]}


def _parquet_rows(file: DataFile, content: bytes) -> Iterator[Placed]:
    import pyarrow.parquet

    try:
        # Its threads may still run when the process ends, which then aborts.
        table = pyarrow.parquet.read_table(io.BytesIO(content), use_threads=False, pre_buffer=False)
        rows = table.to_pylist()
    except (OSError, ValueError, NotImplementedError) as error:  # as pyarrow raises them
        raise ZooError(f"{file} cannot be read: {one_line(error)}") from error
    yield from numbered(rows, "row")


def _json_rows(file: DataFile, text: str) -> Iterator[Placed]:
    """Rows of JSON lines, or of one JSON array of objects."""
    is_array = text.lstrip().startswith("[")
    items: Any = _parsed(file, text) if is_array else text.split("\n")
    for number, item in enumerate(items, start=1):
        place, row = f"{'row' if is_array else 'line'} {number}", item
        if not is_array:
            if not item.strip():
                continue
            try:
                row = _parsed(file, item, number)
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
    except ValueError as error:  # Python reads no integer of more than 4,300 digits
        raise ZooError(f"{file} is broken JSON in line {line}: a number is too long") from error


def _guess(file: DataFile, text: str, form: str, notices: list[str]) -> tuple[str, str]:
    """The format and the delimiter that the first lines tell, with a notice.

    form: CSV, where a comma needs no notice, or empty. Raises ZooError where nothing is told.
    """
    given = itertools.islice(io.StringIO(text, newline="\n"), SAMPLE)
    lines = [line for line in given if line.strip()]
    common = _common_delimiter(lines)
    columns, option = f"columns divided by {WORDS.get(common)}", "--delimiter"
    if form == CSV:
        if not lines or "," in lines[0] or not common:
            return CSV, ","
        what = columns
    elif lines and lines[0].lstrip()[0] in "[{":
        form, common, what, option = "json", "", "JSON", "--file-format"
    elif common:
        form, what = CSV, f"a table with {columns}"
    elif _begin_with_labels(lines):
        form, option = LABEL_TEXT, "--file-format"
        what = "a label, the first word, and a text in every line"
    else:
        raise _no_format(file)
    notices.append(f"{file} is read as {what}, which is a guess; {option} reads it otherwise")
    return form, common


def _no_format(file: DataFile) -> ZooError:
    return ZooError(
        f"{file} is of no format the zoo reads ({', '.join(FORMATS)}), by its ending or what is in "
        "it; --file-format or --delimiter says how to read it"
    )


def _common_delimiter(lines: Sequence[str]) -> str:
    """The character that divides all of these lines into equally many columns; empty if none."""
    for delimiter, quotes in itertools.product("\t,;|", (False, True)):
        widths = {len(record.fields) for record in _records("".join(lines), delimiter, quotes)}
        if len(widths) == 1 and widths != {1}:
            return delimiter
    return ""


def _begin_with_labels(lines: Sequence[str]) -> bool:
    """Whether the first word of every line looks like a label.

    It does where all are ``__label__X`` or ``X:Y``, or where there are at most a quarter as many
    different ones as lines.
    """
    words = [line.split(maxsplit=1) for line in lines]
    if not words or any(len(both) < 2 for both in words):
        return False
    first = [label for label, _ in words]
    marked = all(label.startswith(PREFIX) or ":" in label.strip(":") for label in first)
    return marked or len(set(first)) <= len(first) / 4
