"""CoNLL columns: a token with its tag in every line, a blank line between two texts.

Sources: Tjong Kim Sang and De Meulder, CoNLL-2003, section 2 (``-DOCSTART-`` lines are skipped);
the CoNLL-U format of Universal Dependencies (comment lines are skipped).

A comment begins with ``# `` and stands before the first token of a text. A line ``# O`` there may
also be the token ``#``: it is a comment if its number of columns or what divides them is not the
file's, or its third column is ``=`` ("# text = ..."), and a token if its last column is also that
of another line. Elsewhere in a text, and without the space, as in ``#tag O``, it is a token.
"""

from __future__ import annotations

from collections.abc import Iterator

from zoo.data.sources.data_file import DataFile
from zoo.data.sources.text_encoding import read_text
from zoo.errors import ZooError

FORMATS = (".conll", ".txt", ".tsv")
DOCUMENT = "-DOCSTART-"
COMMENT = "# "

Line = tuple[int, list[str]]  # its number, from 1, and its columns


class BrokenTextError(ZooError):
    """A text with a line that has another number of columns than the file's first."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_conll(
    path: DataFile, encoding: str = "", notices: list[str] | None = None
) -> Iterator[list[Line] | BrokenTextError]:
    """The lines of each text, divided at tabs, or at spaces where a line has no tab.

    A BrokenTextError, which names the line, stands in place of a text that is broken. encoding,
    notices: as of ``encoding_of``. Raises ZooError, naming the line, where one may be a comment or
    a token.
    """
    content = read_text(path, encoding, [] if notices is None else notices)
    given = [line.rstrip("\r") for line in content.split("\n")]
    divided = [line.split("\t") if "\t" in line else line.split() for line in given]
    tokens = [
        (number, columns)
        for number, (line, columns) in enumerate(zip(given, divided, strict=True), start=1)
        if line.strip() and columns[0] != DOCUMENT and not line.startswith(COMMENT)
    ]
    if not tokens:
        return
    (first, usual), tags = tokens[0], {columns[-1].strip() for _, columns in tokens}
    text: list[Line] = []
    broken: BrokenTextError | None = None
    for number, (line, columns) in enumerate(zip(given, divided, strict=True), start=1):
        if not line.strip():
            if text or broken:
                yield broken or text
            text, broken = [], None
            continue
        if columns[0] == DOCUMENT:
            continue
        if line.startswith(COMMENT) and not text and not broken:
            same_division = ("\t" in line) == ("\t" in given[first - 1])
            if not same_division or len(columns) != len(usual) or columns[2:3] == ["="]:
                continue
            if columns[-1].strip() not in tags:
                raise ZooError(
                    f"{path}, line {number} may be a comment or the token '#': {line!r:.40}; write "
                    "a comment as '# name = value', and tabs between the columns of a token"
                )
        if len(columns) != len(usual):
            what = f"{_count(columns)}, where line {first} has {_count(usual)}"
            message = f"{path}, line {number}: {what}: {line.strip()!r:.40}"
            broken = broken or BrokenTextError(message, number)
        text.append((number, columns))
    if text:
        yield broken or text


def _count(columns: list[str]) -> str:
    return f"{len(columns)} column{'s' * (len(columns) > 1)}"
