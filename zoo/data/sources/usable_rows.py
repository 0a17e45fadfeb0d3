"""Which rows of a table can be used: broken ones are errors, or are left out and named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TypeVar

from zoo.config.reading import Reading
from zoo.data.sources.table_format import JSON_LINES
from zoo.data.sources.tables import Placed, Row
from zoo.errors import ZooError, nearest

LONG = 40  # characters of a column's name that an error shows
NAMED = 20  # broken rows that a notice names by their lines
MAYBE_WITHOUT_HEADER = ("text_column", "label_column")  # columns of tables of text

X = TypeVar("X")


def usable_rows(
    source: str,
    placed: Iterable[Placed],
    parse: Callable[[str, Row], X],
    columns: Mapping[str, str],
    reading: Reading,
    notices: list[str],
) -> list[X]:
    """What ``parse`` makes of every row, given where it is and what it holds.

    source: what an error names. columns: those that there must be, each with the field that names
    it. Where asked to, broken rows and those that ``parse`` raises ZooError for are left out, and a
    notice says which. Raises ZooError for these otherwise, and where there is no row or no row has
    one of the columns.
    """
    placed = list(placed)
    rows, bad = dict[str, Row](), dict[str, ZooError]()
    for place, row in placed:
        if not isinstance(row, ZooError):
            rows[place] = row
        elif reading.drop_bad_rows:
            bad[place] = row
        else:
            raise row
    _check_columns(source, rows, columns, reading)
    made: list[X] = []
    for place, row in rows.items():
        try:
            made.append(parse(f"{source}, {place}", row))
        except ZooError as error:
            if not reading.drop_bad_rows:
                raise
            bad[place] = error
    if bad:
        order = [place for place, _ in placed if place in bad]
        notices.append(dropped_rows(source, {place: bad[place] for place in order}, len(placed)))
    if not made:
        raise ZooError(f"{source}: no row can be used")
    return made


def dropped_rows(source: str, bad: Mapping[str, ZooError], rows: int) -> str:
    """Which rows of a file are left out, and what is wrong with the first.

    bad: place to error, which names it, in the order of the file. rows: how many there are in all.
    """
    others = [*bad][1:NAMED]
    if len(bad) > NAMED:
        others.append(f"{len(bad) - NAMED} more")
    first = str(next(iter(bad.values()))).removeprefix(f"{source}, ")
    also = f"; also {listed(others)}" if others else ""
    return f"{source}: {len(bad)} of {rows} rows left out: {first}{also}"


def listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def option_of(field: str) -> str:
    """The flag of a field: ``--text-column`` of ``text_column``."""
    return f"--{field.replace('_', '-')}"


def _check_columns(
    source: str, rows: Mapping[str, Row], columns: Mapping[str, str], reading: Reading
) -> None:
    """ZooError where there are no rows, or no row has one of the columns."""
    if not rows:
        raise ZooError(f"{source} is empty: it has no rows")
    there = dict.fromkeys(chain.from_iterable(rows.values()))
    place, row = next(iter(rows.items()))
    for column, field in columns.items():
        if column in there:
            continue
        problem = f"{source} has no column '{column}' ({option_of(field)})"
        if not reading.header:
            held = (f"{name} ({str(row.get(name))[:20]!r})" for name in there)
            raise ZooError(f"{problem}; by number there is: {', '.join(held)}")
        known = [name if len(name) <= LONG else f"{name[:LONG]}…" for name in there]
        # Rows of JSON and of the Hub name their columns themselves.
        is_table = place.startswith("line") and not source.endswith(JSON_LINES)
        hint = "; if its first line is no header, say --no-header"
        hint = hint if is_table and field in MAYBE_WITHOUT_HEADER else ""
        raise ZooError(f"{problem}{nearest(column, known)}{hint}")
