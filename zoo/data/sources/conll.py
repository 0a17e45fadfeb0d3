"""CoNLL columns: a token with its tag in every line, a blank line between two texts.

Source: Tjong Kim Sang and De Meulder, CoNLL-2003, section 2 (``-DOCSTART-`` lines are skipped).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from zoo.data.sources.tables import read_utf8
from zoo.errors import ZooError

FORMATS = (".conll", ".txt", ".tsv")
DOCUMENT = "-DOCSTART-"

Line = tuple[int, list[str]]  # its number, from 1, and its columns


def read_conll(path: Path) -> Iterator[list[Line]]:
    """The lines of each text, divided at tabs, or at spaces where a line has no tab.

    Raises ZooError, naming the line, where lines have different numbers of columns.
    """
    lines: list[Line] = []
    first: Line | None = None
    for number, line in enumerate(read_utf8(path).split("\n"), start=1):
        line = line.rstrip("\r")
        if not line.strip():
            if lines:
                yield lines
            lines = []
            continue
        columns = line.split("\t") if "\t" in line else line.split()
        if columns[0] == DOCUMENT:
            continue
        first = first or (number, columns)
        if len(columns) != len(first[1]):
            raise ZooError(
                f"{path}, line {number}: {_count(columns)}, where line {first[0]} has "
                f"{_count(first[1])}: {line.strip()!r:.40}"
            )
        lines.append((number, columns))
    if lines:
        yield lines


def _count(columns: list[str]) -> str:
    return f"{len(columns)} column{'s' * (len(columns) > 1)}"
