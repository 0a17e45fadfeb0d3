"""A tagged corpus from CoNLL columns, or from rows with a list of tokens and a list of tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.data.sources import conll
from zoo.data.sources.row_reader import LabelledRows, RowReader
from zoo.data.sources.tables import FORMATS, SEPARATORS, Row, read_rows
from zoo.data.sources.tagged_corpus import IGNORED, TaggedCorpus, check_tokens
from zoo.data.sources.train_test_split import DivisionError, stratified
from zoo.errors import ZooError

TOKENS, TAGS = "tokens", "tags"
Tag = str | int


@dataclass(frozen=True)
class TaggedTable:
    """Tokens and tags of the texts of one split; groups: of the texts, where asked for."""

    tokens: list[list[str]]
    tags: list[list[Tag]]
    groups: list[str] = field(default_factory=list)

    def take(self, indices: Sequence[int]) -> TaggedTable:
        """The texts of these indices, in their order."""
        return TaggedTable(
            [self.tokens[i] for i in indices],
            [self.tags[i] for i in indices],
            [self.groups[i] for i in indices] if self.groups else [],
        )


@dataclass(frozen=True)
class TaggedTexts(RowReader[TaggedTable, TaggedCorpus]):
    """Rows with a list of tokens and a list of tags.

    In CoNLL columns the token is the first column and the tag the last one, unless
    ``tokens_column`` or ``tags_column`` is the number of another, from 1.
    """

    tokens_column: str = TOKENS
    tags_column: str = TAGS
    group_column: str = ""

    formats = (*conll.FORMATS, *(name for name in FORMATS if name not in SEPARATORS))

    def rows(self, path: Path) -> Iterator[tuple[str, Row]]:
        suffix = path.suffix.lower()
        if suffix not in self.formats:
            known = ", ".join(self.formats)
            raise ZooError(f"{path} is of no format that tagged texts are read from ({known})")
        return self._conll_rows(path) if suffix in conll.FORMATS else read_rows(path)

    def _conll_rows(self, path: Path) -> Iterator[tuple[str, Row]]:
        for lines in conll.read_conll(path):
            number, columns = lines[0]
            place = f"line {number}"
            token, tag = (
                _column(f"{path}, {place}", len(columns), given, default, usual)
                for given, default, usual in (
                    (self.tokens_column, TOKENS, 0),
                    (self.tags_column, TAGS, len(columns) - 1),
                )
            )
            if token == tag:
                raise ZooError(f"{path}, {place}: the tokens and the tags are the same column")
            row = {self.tokens_column: [c[token] for _, c in lines]}
            yield place, {**row, self.tags_column: [c[tag].strip() for _, c in lines]}

    def name_labels(self, rows: Iterable[Row], features: Mapping[str, Any]) -> None:
        names = getattr(getattr(features.get(self.tags_column), "feature", None), "names", None)
        if not names:
            return
        for row in rows:
            row[self.tags_column] = [
                names[tag] if isinstance(tag, int) and 0 <= tag < len(names) else tag
                for tag in row[self.tags_column]
            ]

    def table(self, source: str, rows: Iterable[tuple[str, Row]]) -> TaggedTable:
        rows = list(rows)
        self.check_columns(source, [row for _, row in rows])
        texts, tags = list[list[str]](), list[list[Tag]]()
        for place, row in rows:
            where = f"{source}, {place}"
            tokens, its_tags = (
                _list(f"{where}: '{column}'", row.get(column))
                for column in (self.tokens_column, self.tags_column)
            )
            check_tokens(where, tokens, its_tags)
            texts.append(tokens)
            tags.append([_tag(f"{where}: '{self.tags_column}'", tag) for tag in its_tags])
        return TaggedTable(texts, tags, self.groups(source, rows))

    def merged(self, tables: Sequence[TaggedTable]) -> TaggedTable:
        return TaggedTable(
            [tokens for table in tables for tokens in table.tokens],
            [tags for table in tables for tags in table.tags],
            [group for table in tables for group in table.groups],
        )

    def divided(
        self, name: str, table: TaggedTable, seed: int
    ) -> tuple[TaggedTable, TaggedTable, str]:
        if len(table.tokens) < 2:
            raise DivisionError(f"{name} has no test split and cannot be divided: it has one text")
        train, drawn = stratified([""] * len(table.tokens), seed, what=name)
        seen = {tag for row in train for tag in table.tags[row]}
        test = list[int]()
        for row in drawn:  # a tag that only test has could not be learned
            target = test if seen.issuperset(table.tags[row]) else train
            target.append(row)
            seen.update(table.tags[row] if target is train else ())
        if not test:
            raise DivisionError(f"{name} has no test split and is too small to be divided")
        note = f"by text, seed {seed}, {len(test)} of {len(table.tokens)} for test"
        return table.take(sorted(train)), table.take(test), note

    def labelled(self, table: TaggedTable) -> LabelledRows:
        tags = [[None if tag == IGNORED else str(tag) for tag in its] for its in table.tags]
        return LabelledRows(table.tokens, tags, table.groups)

    def corpus(
        self, name: str, train: TaggedTable, test: TaggedTable, notes: dict[str, str]
    ) -> TaggedCorpus:
        used = {tag for table in (train, test) for tags in table.tags for tag in tags} - {IGNORED}
        integers = [tag for tag in used if isinstance(tag, int)]
        if integers and len(integers) < len(used):
            raise ZooError(f"{name}: some tags are numbers and some are text")
        ordered: list[Any] = sorted(used, key=lambda tag: tag if integers else str(tag))
        codes = {IGNORED: IGNORED, **{tag: code for code, tag in enumerate(ordered)}}
        return TaggedCorpus(
            name=name,
            train_tokens=train.tokens,
            train_tags=[[codes[tag] for tag in tags] for tags in train.tags],
            test_tokens=test.tokens,
            test_tags=[[codes[tag] for tag in tags] for tags in test.tags],
            label_names=[str(tag) for tag in ordered],
            notes=notes,
            test_groups=test.groups,
        )


def _column(where: str, columns: int, given: str, default: str, usual: int) -> int:
    """The index of a CoNLL column; ``given`` is its number, or the name that stands for none."""
    if given == default:
        return usual
    if not given.isdecimal() or not 1 <= int(given) <= columns:
        raise ZooError(
            f"{where}: --{default}-column {given}: the columns of a CoNLL file are the numbers "
            f"1 to {columns}"
        )
    return int(given) - 1


def _list(where: str, value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    found = "missing" if value is None else f"no list but a {type(value).__name__}"
    raise ZooError(f"{where} is {found}")


def _tag(where: str, value: Any) -> Tag:
    """A tag as text or an integer; ``IGNORED`` also where it is written as text."""
    if value == str(IGNORED):
        return IGNORED
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ZooError(f"{where} has a tag that is no text and no whole number: {value!r:.40}")
