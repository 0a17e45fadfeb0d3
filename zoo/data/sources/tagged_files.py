"""A tagged corpus from CoNLL columns, or from rows with a list of tokens and a list of tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoo.data.sources import conll
from zoo.data.sources.data_file import DataFile, data_suffix
from zoo.data.sources.row_reader import LabelledRows, RowReader
from zoo.data.sources.table_format import FORMATS, SEPARATORS
from zoo.data.sources.tables import Placed, Row, read_rows
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

    def rows(self, file: DataFile, notices: list[str]) -> Iterator[Placed]:
        suffix = data_suffix(file)
        if suffix not in self.formats:
            known = ", ".join(self.formats)
            raise ZooError(f"{file} is of no format that tagged texts are read from ({known})")
        if suffix in conll.FORMATS:
            return self._conll_rows(file, notices)
        return read_rows(file, self.reading, notices)

    def _conll_rows(self, path: DataFile, notices: list[str]) -> Iterator[Placed]:
        for lines in conll.read_conll(path, self.reading.encoding, notices):
            if isinstance(lines, conll.BrokenTextError):
                yield f"line {lines.line}", lines
                continue
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

    def table(self, source: str, rows: Iterable[Placed], notices: list[str]) -> TaggedTable:
        def parse(where: str, row: Row) -> tuple[list[str], list[Tag], str]:
            tokens, its_tags = (
                _list(f"{where}: '{column}'", row.get(column))
                for column in (self.tokens_column, self.tags_column)
            )
            check_tokens(where, tokens, its_tags)
            tags = [_tag(f"{where}: '{self.tags_column}'", tag) for tag in its_tags]
            return tokens, tags, self.group(where, row)

        parsed = self.usable(source, rows, parse, notices)
        texts, tags, groups = map(list, zip(*parsed, strict=True))
        return TaggedTable(texts, tags, groups if self.group_column else [])

    def merged(self, tables: Sequence[TaggedTable]) -> TaggedTable:
        return TaggedTable(
            [tokens for table in tables for tokens in table.tokens],
            [tags for table in tables for tags in table.tags],
            [group for table in tables for group in table.groups],
        )

    def divided(self, name: str, table: TaggedTable) -> tuple[TaggedTable, TaggedTable, str]:
        if len(table.tokens) < 2:
            raise DivisionError(f"{name} has no test split and cannot be divided: it has one text")
        seed = self.division.split_seed
        train, drawn = stratified([""] * len(table.tokens), seed, share=self.test_share, what=name)
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
        self,
        name: str,
        train: TaggedTable,
        test: TaggedTable,
        validation: TaggedTable | None,
        notes: dict[str, str],
    ) -> TaggedCorpus:
        tables = [train, test, *([validation] if validation else [])]
        used = {tag for table in tables for tags in table.tags for tag in tags} - {IGNORED}
        integers = [tag for tag in used if isinstance(tag, int)]
        if integers and len(integers) < len(used):
            raise ZooError(f"{name}: some tags are numbers and some are text")
        ordered: list[Any] = sorted(used, key=lambda tag: tag if integers else str(tag))
        codes = {IGNORED: IGNORED, **{tag: code for code, tag in enumerate(ordered)}}
        coded = [[[codes[tag] for tag in tags] for tags in table.tags] for table in tables]
        return TaggedCorpus(
            name=name,
            train_tokens=train.tokens,
            train_tags=coded[0],
            test_tokens=test.tokens,
            test_tags=coded[1],
            label_names=[str(tag) for tag in ordered],
            notes=notes,
            test_groups=test.groups,
            validation_tokens=validation.tokens if validation else [],
            validation_tags=coded[2] if validation else [],
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
