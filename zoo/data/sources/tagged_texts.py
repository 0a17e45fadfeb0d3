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
from typing import Any

from zoo.config.reading import TextReading
from zoo.data.sources.corpus import IGNORED, TaggedCorpus, check_tokens
from zoo.data.sources.labels import Example
from zoo.data.sources.row_reader import RowReader
from zoo.data.sources.splits import DivisionError, stratified
from zoo.data.sources.tables import FORMATS, SEPARATORS, Placed, Row, read_rows
from zoo.data.sources.text_file import USUAL, DataFile, data_suffix, read_text, too_large
from zoo.errors import ZooError

CONLL = (".conll", ".conllu", ".txt", ".tsv")
# Of CoNLL-U, whose name may stand for a column of ten.
CONLLU = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
DOCUMENT = "-DOCSTART-"
COMMENT = "# "
SEVERAL = re.compile(r"\d+[-.]\d+")  # in CoNLL-U, of words together or of one that was left out
TOKENS, TAGS = "tokens", "tags"


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
    given = [line.rstrip("\r") for line in content.split("\n")]
    columns = [line.split("\t") if "\t" in line else line.split() for line in given]
    tokens = [
        number
        for number, (line, its) in enumerate(zip(given, columns, strict=True))
        if line.strip() and its[0] != DOCUMENT and not line.startswith(COMMENT)
    ]
    if not tokens:
        return
    first, tags = tokens[0], {columns[number][-1].strip() for number in tokens}
    width = len(columns[first])
    text: list[list[str]] = []
    place, broken = "", None
    for number, (line, its) in enumerate(zip([*given, ""], [*columns, []], strict=True)):
        if not line.strip():
            if text:
                yield place, broken or text
            text, broken = [], None
            continue
        if its[0] == DOCUMENT or (is_universal and SEVERAL.fullmatch(its[0])):
            continue
        if line.startswith(COMMENT) and not text:
            divided_alike = ("\t" in line) == ("\t" in given[first]) and len(its) == width
            if not divided_alike or its[2:3] == ["="] or its[-1].strip() not in tags:
                continue
        if not text or (len(its) != width and not broken):
            place = f"line {number + 1}"
        if len(its) != width and not broken:
            what = f"{_count(its)}, where line {first + 1} has {_count(columns[first])}"
            broken = ZooError(f"{path}, {place}: {what}: {line.strip()!r:.40}")
        text.append(its)


def usual_columns(path: DataFile, width: int) -> tuple[int, int]:
    """The indices of the tokens and the tags in a file with so many columns."""
    is_universal = data_suffix(path) == ".conllu" and width == len(CONLLU)
    return (CONLLU.index("FORM"), CONLLU.index("UPOS")) if is_universal else (0, width - 1)


def _count(columns: list[str]) -> str:
    return f"{len(columns)} column{'s' * (len(columns) > 1)}"


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
