"""Tables of text whose columns are divided by a character, such as CSV and TSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from zoo.errors import ZooError

FEW = 50  # a column with more different values holds no labels
LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
NO_QUOTES = "if quotes are plain characters in this file, say --no-quotes"


@dataclass
class Record:
    """One row of a table: the lines that it is made of, from ``line`` on, and its fields.

    wrong: what is wrong with it; empty where nothing is.
    """

    line: int
    lines: list[str]
    fields: list[str] = field(default_factory=list)
    wrong: str = ""


def records(lines: Iterable[str], delimiter: str, quotes: bool) -> Iterator[Record]:
    """The rows of a table, without empty lines.

    quotes: double quotes enclose a field, in which there may be delimiters and line ends. A
    carriage return alone ends a line too then, as spreadsheets have it.
    """
    number = 1
    if not quotes:
        for number, line in enumerate(lines, start=1):
            if text := line.removesuffix("\n").removesuffix("\r"):
                yield Record(number, [line], text.split(delimiter))
        return
    taken: list[str] = []

    def kept() -> Iterator[str]:
        for line in lines:
            for part in LINES.findall(line) if "\r" in line[:-2] else [line]:
                taken.append(part)
                yield part

    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(kept(), delimiter=delimiter)
    while True:
        record = Record(number, [])
        try:
            record.fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            record.wrong = str(error)
        record.lines = taken.copy()
        taken.clear()
        number += len(record.lines)
        if record.fields or record.wrong:
            yield record


def delimited_rows(
    name: str,
    lines: Iterable[str],
    delimiter: str,
    notices: list[str],
    *,
    header: bool = True,
    quotes: bool = True,
) -> Iterator[tuple[str, dict[str, str] | ZooError]]:
    """Each row by column name after its place, ``line 3``; an error in place of a broken row.

    header: the first line names the columns; else their names are the numbers from 1. A row that
    is too short has empty cells at its end. Adds a notice where a quoted field seems to have
    swallowed rows. Raises ZooError for a quoted field without an end.
    """
    names: list[str] = []
    first, swallowed = "its header", list[Record]()
    values: list[set[str] | None] = []
    for record in records(lines, delimiter, quotes):
        place = f"line {record.line}"
        if len(record.lines) > 1:
            if problem := _strictly(record, delimiter):
                if "end of data" in problem:
                    raise ZooError(f"{name}, {place}: a quoted field has no end; {NO_QUOTES}")
                swallowed.append(record)
            elif _each_a_row(record, delimiter, values):
                swallowed.append(record)
        if not names:
            names = _names(record.fields) if header else _numbers(record.fields)
            values = [set() for _ in names]
            if header:
                continue
            first = place
        cells = record.fields
        if record.wrong:
            yield place, ZooError(f"{name}, {place} cannot be read: {record.wrong}")
        elif any(cell.strip() for cell in cells[len(names) :]):
            fields = f"{len(cells)} fields, where {first} has {len(names)}"
            yield place, ZooError(f"{name}, {place} has more fields than {first}: {fields}")
        else:
            cells = [*cells[: len(names)], *[""] * (len(names) - len(cells))]
            _note(values, cells)
            yield place, dict(zip(names, cells, strict=True))
    if swallowed:
        one = swallowed[0]
        more = f" ({len(swallowed)} such fields, this is the first)" if len(swallowed) > 1 else ""
        notices.append(
            f"{name}, lines {one.line} to {one.line + len(one.lines) - 1}: one quoted field goes "
            f"over {len(one.lines)} lines and seems to have swallowed rows{more}; {NO_QUOTES}"
        )


def quotes_fit(lines: Iterable[str], delimiter: str) -> bool:
    """Whether every double quote of a table can be one that encloses a field.

    It cannot where a closing quote is within a field or missing. Where every line of a quoted
    field is a row by itself, the quotes are taken for plain characters too.
    """
    width = 0
    for record in records(lines, delimiter, quotes=True):
        width = width or len(record.fields)
        if any('"' in line for line in record.lines) and _strictly(record, delimiter):
            return False
        if len(record.lines) > 1 and all(
            line.count(delimiter) == width - 1 for line in record.lines
        ):
            return False
    return True


def common_delimiter(lines: Sequence[str]) -> str:
    """The character that divides all of these lines into equally many columns; empty if none."""
    for delimiter in "\t,;|":
        for quotes in (False, True):
            widths = {len(record.fields) for record in records(lines, delimiter, quotes)}
            if len(widths) == 1 and widths != {1}:
                return delimiter
    return ""


def _names(fields: Sequence[str]) -> list[str]:
    """The columns of a header; one without a name is its number, and a second of a name differs."""
    names: list[str] = []
    for number, field_ in enumerate(fields, start=1):
        name = field_.strip() or str(number)
        names.append(f"{name}.{number}" if name in names else name)
    return names


def _numbers(fields: Sequence[str]) -> list[str]:
    return [str(number) for number in range(1, len(fields) + 1)]


def _strictly(record: Record, delimiter: str) -> str:
    """What is wrong with the quotes of a row; empty where nothing is."""
    try:
        list(csv.reader(record.lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return str(error)
    return ""


def _note(values: list[set[str] | None], cells: Sequence[str]) -> None:
    """Add the cells to the values of their columns, as long as these are few."""
    for number, (seen, cell) in enumerate(zip(values, cells, strict=True)):
        if seen is not None:
            seen.add(cell)
            if len(seen) > FEW:
                values[number] = None


def _each_a_row(record: Record, delimiter: str, values: Sequence[set[str] | None]) -> bool:
    """Whether every line of a row looks like one by itself, with a label known from other rows."""
    rows = [line.rstrip("\r\n").split(delimiter) for line in record.lines]
    return all(len(row) == len(values) for row in rows) and any(
        seen is not None and all(row[number].strip('"') in seen for row in rows)
        for number, seen in enumerate(values)
    )
