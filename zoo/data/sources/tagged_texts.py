"""A tagged corpus from CoNLL columns, or from rows with a list of tokens and a list of tags.

CoNLL columns hold a token with its tag in every line, and a blank line between two texts. Sources:
Tjong Kim Sang and De Meulder, CoNLL-2003, section 2 (``-DOCSTART-`` lines are skipped); the CoNLL-U
format of Universal Dependencies (comment lines are skipped).

A comment begins with ``# `` and stands before the first token of a text. A line ``# O`` there is
the token ``#`` if it has the file's number of columns, divided as there, its last column is also
that of another line, and its third column is no ``=`` ("# text = O"). Elsewhere in a text, and
without the space, as in ``#tag O``, it is a token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile, groupby
from typing import Any, NamedTuple

from zoo.config.reading import TextReading
from zoo.data.sources.corpus import IGNORED, TaggedCorpus, check_tokens
from zoo.data.sources.labels import Example
from zoo.data.sources.row_reader import RowReader
from zoo.data.sources.splits import DivisionError, stratified
from zoo.data.sources.tables import FORMATS, SEPARATORS, Placed, Row, read_rows
from zoo.data.sources.text_file import USUAL, DataFile, data_suffix, read_text, too_large
from zoo.errors import ZooError, counted

CONLL = (".conll", ".conllu", ".txt", ".tsv")
# Of CoNLL-U, whose name may stand for a column of ten.
CONLLU = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
DOCUMENT = "-DOCSTART-"
COMMENT = "# "
SEVERAL = re.compile(r"\d+[-.]\d+")  # in CoNLL-U, of words together or of one that was left out
TOKENS, TAGS = "tokens", "tags"


class _Line(NamedTuple):
    number: int
    text: str
    columns: list[str]


@dataclass(frozen=True)
class TaggedTexts(RowReader[TaggedCorpus]):
    """Rows with a list of tokens and a list of tags.

    In CoNLL columns the token is the first column and the tag the last one, unless
    ``tokens_column`` or ``tags_column`` is the number of another, from 1. Ten columns also have the
    names of CoNLL-U; in a file that ends in ``.conllu`` FORM and UPOS are read.
    """

    tokens_column: str = TOKENS
    tags_column: str = TAGS

    kind = TaggedCorpus
    formats = (*CONLL, *(name for name in FORMATS if name not in SEPARATORS))

    def rows(self, file: DataFile, notices: list[str]) -> Iterable[Placed]:
        suffix = data_suffix(file)
        if suffix not in self.formats:
            known = ", ".join(self.formats)
            raise ZooError(f"{file} is of no format that tagged texts are read from ({known})")
        if suffix in CONLL:
            return self._conll_rows(file, notices)
        return read_rows(file, self.reading, notices)

    def _conll_rows(self, path: DataFile, notices: list[str]) -> Iterator[Placed]:
        for place, lines in read_conll(path, self.reading, notices):
            if isinstance(lines, ZooError):
                yield place, lines
                continue
            width = len(lines[0])
            usual = usual_columns(path, width)
            token = _column(f"{path}, {place}", width, self.tokens_column, TOKENS, usual[0])
            tag = _column(f"{path}, {place}", width, self.tags_column, TAGS, usual[1])
            if token == tag:
                raise ZooError(f"{path}, {place}: the tokens and the tags are the same column")
            tokens, tags = [c[token] for c in lines], [c[tag].strip() for c in lines]
            yield place, {self.tokens_column: tokens, self.tags_column: tags}

    def parse(self, where: str, row: Row) -> Example:
        tokens, tags = (
            _list(f"{where}: '{column}'", row.get(column))
            for column in (self.tokens_column, self.tags_column)
        )
        check_tokens(where, tokens, tags)
        return Example(tokens, [_tag(f"{where}: '{self.tags_column}'", tag) for tag in tags])

    def divided(self, name: str, examples: list[Example]) -> tuple[list[int], list[int], str]:
        texts = len(examples)
        if texts < 2:
            raise DivisionError(
                [f"{name} has no test split and cannot be divided: it has one text"]
            )
        seed = self.division.split_seed
        train, drawn = stratified([""] * texts, seed, share=self.test_share)
        seen = {tag for row in train for tag in examples[row].label}
        test: list[int] = []
        for row in drawn:  # a tag that only test has could not be learned
            if seen.issuperset(examples[row].label):
                test.append(row)
            else:
                train.append(row)
                seen.update(examples[row].label)
        if not test:
            raise DivisionError([f"{name} has no test split and is too small to be divided"])
        return sorted(train), test, f"by text, seed {seed}, {len(test)} of {texts} for test"


def read_conll(
    path: DataFile, reading: TextReading = USUAL, notices: list[str] | None = None
) -> Iterator[tuple[str, list[list[str]] | ZooError]]:
    """The columns of each line of each text, after the place of its first line.

    Columns are divided at tabs, or at spaces where a line has no tab. In place of a text with
    another number of columns in a line stands an error, after the place of that line. Of CoNLL-U
    only the lines of words are given. reading, notices: as in ``read_text``.
    """
    content, at = read_text(path, reading, notices), 1
    is_universal = data_suffix(path) == ".conllu"
    for block in re.split(r"\n\s*\n", content) if len(content) > reading.longest else ():
        if len(block) > reading.longest:
            raise too_large(f"{path}, the text from line {at}", len(block), reading)
        at += block.count("\n") + 2
    given = (line.rstrip("\r") for line in content.split("\n"))
    lines = [
        _Line(number, line, line.split("\t") if "\t" in line else line.split())
        for number, line in enumerate(given, start=1)
    ]
    lines = [one for one in lines if one.columns[:1] != [DOCUMENT]]
    tokens = [one for one in lines if one.text.strip() and not one.text.startswith(COMMENT)]
    if not tokens:
        return
    first, width = tokens[0], len(tokens[0].columns)
    tags = {one.columns[-1].strip() for one in tokens}

    def is_comment(line: _Line) -> bool:
        alike = ("\t" in line.text) == ("\t" in first.text) and len(line.columns) == width
        is_token = alike and line.columns[2:3] != ["="] and line.columns[-1].strip() in tags
        return line.text.startswith(COMMENT) and not is_token

    for is_blank, block in groupby(lines, key=lambda one: not one.text.strip()):
        words = (one for one in block if not is_blank)
        if is_universal:
            words = (one for one in words if not SEVERAL.fullmatch(one.columns[0]))
        text = list(dropwhile(is_comment, words))
        odd = next((one for one in text if len(one.columns) != width), None)
        if odd:
            found, usual = counted(len(odd.columns), "column"), counted(width, "column")
            what = f"{found}, where line {first.number} has {usual}: {odd.text.strip()!r:.40}"
            yield f"line {odd.number}", ZooError(f"{path}, line {odd.number}: {what}")
        elif text:
            yield f"line {text[0].number}", [one.columns for one in text]


def usual_columns(path: DataFile, width: int) -> tuple[int, int]:
    """The indices of the tokens and the tags in a file with so many columns."""
    is_universal = data_suffix(path) == ".conllu" and width == len(CONLLU)
    return (CONLLU.index("FORM"), CONLLU.index("UPOS")) if is_universal else (0, width - 1)


def _column(where: str, columns: int, given: str, default: str, usual: int) -> int:
    """The index of a CoNLL column; ``given`` is its number, or the name that stands for none."""
    if given == default:
        return usual
    named = CONLLU if columns == len(CONLLU) else []
    if given.upper() in named:
        return named.index(given.upper())
    if not given.isdecimal() or not 1 <= int(given) <= columns:
        names = f", or {', '.join(named)}" if named else ""
        raise ZooError(
            f"{where}: --{default}-column {given}: the columns of a CoNLL file are the numbers "
            f"1 to {columns}{names}"
        )
    return int(given) - 1


def _list(where: str, value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    found = "missing" if value is None else f"no list but a {type(value).__name__}"
    raise ZooError(f"{where} is {found}")


def _tag(where: str, value: Any) -> str | None:
    """A tag as text; None for ``IGNORED``, also where that is written as text."""
    if value in (IGNORED, str(IGNORED)):
        return None
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ZooError(f"{where} has a tag that is no text and no whole number: {value!r:.40}")
