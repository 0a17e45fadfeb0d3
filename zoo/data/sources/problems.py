"""What is wrong with data, all of it at once, and the options with which they can be read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from statistics import mean
from typing import Any, TypeVar

from zoo.config.flags import flag
from zoo.config.reading import TextReading
from zoo.data.sources.splits import Advice
from zoo.data.sources.tables import JSON_LINES, Placed, Row
from zoo.data.sources.text_file import too_large
from zoo.errors import DataError, ZooError, listed, nearest

LONG = 40  # characters of a column's name that an error shows
ALMOST = 0.8  # how alike names are of which one is likely to be a misspelling
# What columns are often called.
USUAL = {
    "text_column": "text body message content description comment review title".split(),
    "label_column": "label category class topic target intent sentiment section".split(),
}
EXAMPLES = 5  # rows with one problem that are named
D = TypeVar("D")
X = TypeVar("X")
Y = TypeVar("Y")


def read_or_explain(
    read: Callable[[Mapping[str, Any]], tuple[D, list[str]]], *, again: bool = True
) -> tuple[D, list[str]]:
    """Data and their notices, as they are read without further options.

    Where that fails, the options that the error has are tried, until the data can be read or
    nothing helps. The error then has all that was wrong, and the options with which the data were
    read. again: whether that is possible, which it is not of a pipe. Raises ZooError.
    """
    errors: list[ZooError] = []
    advice: list[str] = []
    options: dict[str, Any] = {}
    while True:
        try:
            data, notices = read(options)
        except ZooError as error:
            helping = error.options if isinstance(error, DataError) else {}
            # A column that was chosen for one file and is not in another: that helps nobody.
            if not (options and helping and helping.keys() <= options.keys()):
                errors.append(error)
            if not again or helping.keys() <= options.keys():
                raise _joined(errors, advice, {}) from None
        else:
            if not errors:
                return data, notices
            advised = [notice for notice in notices if isinstance(notice, Advice)]
            helping = {n: v for notice in advised for n, v in notice.options.items()}
            # Of what these options mend nothing else is to be said.
            advice += [notice for notice in advised if notice.options or not helping]
            if helping.keys() <= options.keys():
                raise _joined(errors, advice, options)
        options = {**options, **helping, **options}  # in the order in which they were found


def _joined(
    errors: Sequence[ZooError], advice: Sequence[str], options: Mapping[str, Any]
) -> ZooError:
    """One error of several; one alone is kept as it is, but for its options."""
    first = errors[0]
    if len(errors) > 1 or (advice and isinstance(first, DataError)):
        problems = [e.problems if isinstance(e, DataError) else [str(e)] for e in errors]
        every = dict.fromkeys([*chain.from_iterable(problems), *advice])
        return DataError([*every], options)
    if isinstance(first, DataError):
        first.options = dict(options)
    return first


def find_columns(
    source: str,
    placed: Sequence[Placed],
    columns: Mapping[str, str],
    notices: list[str],
    *,
    header: bool = True,
) -> None:
    """Give columns whose names differ in case only the names that are asked for, with a notice.

    columns: each with the option that names it, ``text_column``. source: what an error names.
    Raises ZooError where there are no rows, and DataError where no row has one of the columns.
    """
    if not placed:
        raise ZooError(f"{source} is empty: it has no rows")
    rows = [row for _, row in placed if not isinstance(row, ZooError)]
    there = dict.fromkeys(chain.from_iterable(rows))
    meant: dict[str, str] = {}
    for column, option in columns.items() if rows else ():
        alike = [one for one in there if one.casefold() == column.casefold()]
        if column in there:
            continue
        if len(alike) > 1 or not alike or alike[0] in columns:
            meant[column] = _meant(option, column, rows, {*columns, *meant.values()})
            continue
        notices.append(f"{source}: column '{alike[0]}' is read as '{column}'")
        for row in rows:
            if alike[0] in row:
                row[column] = row.pop(alike[0])
    if not meant:
        return
    names = ", ".join(f"'{column}' ({flag(columns[column])})" for column in meant)
    if not header:
        held = (f"{name} ({str(rows[0].get(name))[:20]!r})" for name in there)
        hint = f"; by number there is: {', '.join(held)}"
    else:
        known = [name if len(name) <= LONG else f"{name[:LONG]}…" for name in there]
        hint = nearest(next(iter(meant)), known)
        # Rows of JSON and of the Hub name their columns themselves.
        is_table = placed[0][0].startswith("line") and not source.endswith(JSON_LINES)
        if is_table and USUAL.keys() & {columns[column] for column in meant}:
            hint += "; if its first line is no header, say --no-header"
    options = {
        option: ",".join(meant.get(c, c) for c, its in columns.items() if its == option)
        for option in (columns[column] for column in meant)
    }
    problem = f"{source} has no column {names}{hint}"
    raise DataError([problem], options if all(meant.values()) else {})


def _meant(option: str, name: str, rows: Sequence[Row], taken: Collection[str]) -> str:
    """The column that seems to be meant by a name that no column has; empty where none does.

    It is one with almost that name, or a usual one, or the one with the longest texts, or with the
    fewest different labels. taken: other columns that are read.
    """
    values: dict[str, list[str]] = {}
    for column, value in chain.from_iterable(row.items() for row in rows):
        if column in taken or (option == "text_column" and "," in column):  # which divides names
            continue
        if isinstance(value, str | int) and str(value).strip():
            values.setdefault(column, []).append(str(value))
    for word in (name, *USUAL.get(option, ())):
        for found in difflib.get_close_matches(word, values, n=1, cutoff=ALMOST):
            return str(found)
    if option == "text_column":
        return max(values, key=lambda column: mean(map(len, values[column])), default="")
    different = {column: len(set(its)) for column, its in values.items()}
    few = [c for c, count in different.items() if 1 < count <= len(values[c]) / 2]
    return min(few, key=different.__getitem__, default="") if option in USUAL else ""


def usable(
    source: str,
    placed: Iterable[tuple[str, X | ZooError]],
    parse: Callable[[str, X], Y],
    reading: TextReading,
    notices: list[str],
    *,
    at_once: bool = False,
) -> Iterator[Y]:
    """What ``parse`` makes of every row, given where it is and what it holds.

    Broken rows, those with too large a text, and those that ``parse`` raises ZooError for, are left
    out where ``reading`` says so; a notice then says which, after the last row. Otherwise a
    DataError names all of them after the last row, or with at_once the first where it is met.
    source: what an error names.
    """
    bad: dict[str, ZooError] = {}
    count = 0
    for place, row in placed:
        count += 1
        try:
            if isinstance(row, ZooError):
                raise row
            if (size := _largest(row)) > reading.longest:
                raise too_large(f"{source}, {place}", size, reading)
            parsed = parse(f"{source}, {place}", row)
        except ZooError as error:
            bad[place] = error
            if at_once and not reading.drop_bad_rows:
                break
        else:
            if reading.drop_bad_rows or not bad:
                yield parsed
    problems = _problems(source, bad, count)
    if bad and not reading.drop_bad_rows:
        raise DataError(problems, {"drop_bad_rows": True})
    notices += [f"{problem}; left out" for problem in problems]


def _problems(source: str, bad: Mapping[str, ZooError], count: int) -> list[str]:
    """A line for each problem that rows have, of those of a table with so many rows."""
    places: dict[str, list[str]] = {}
    for place, error in bad.items():
        what = str(error).removeprefix(f"{source}, {place}").lstrip(": ")
        places.setdefault(what, []).append(place)
    found = []
    for what, its in places.items():
        shown = listed(its, EXAMPLES)
        for word in ("line", "row"):  # "lines 3, 5 and 7"
            if shown.startswith(f"{word} "):
                shown = f"{word}s {shown.replace(f'{word} ', '')}"
        several = f"{source}: {what}, in {len(its)} of {count} rows ({shown})"
        found.append(several if len(its) > 1 else str(bad[its[0]]))
    others = len(found) - EXAMPLES
    return found[:EXAMPLES] + [f"{source}: {others} more problems in rows"] * (others > 0)


def _largest(row: Any) -> int:
    """The characters of the largest text in a row; a list is one text."""
    if isinstance(row, dict):
        return max(map(_largest, row.values()), default=0)
    if isinstance(row, list):
        return sum(map(_largest, row))
    return len(row) if isinstance(row, str) else 0
