"""From tables to a data set, whatever the source: rows are checked, labelled, and divided."""

from __future__ import annotations

import re
import unicodedata
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel

from zoo.config.reading import Division, Reading, TextReading, changed_flags, part_of
from zoo.data.sources import tables as files
from zoo.data.sources.corpus import (
    IGNORED,
    TEST,
    TRAIN,
    VALIDATION,
    Corpus,
    DataSet,
    Examples,
    Pairs,
    TaggedCorpus,
    check_string,
    check_tokens,
    is_blank,
    is_missing,
    listed_label,
    plain_name,
    plain_words,
    seen,
)
from zoo.data.sources.diagnostics.drawing import Draw
from zoo.data.sources.tables import SourceTable
from zoo.errors import DataError, ZooError, listed, nearest
from zoo.registry.catalog import split_list

TEST_SHARE = 0.25
EXAMPLES = 5  # rows with one problem, or labels, that a line names
NAMES_COLUMN = "label_text"  # of the names of labels that are numbers


class RawData(NamedTuple):
    """Data before their rows are checked: the tables of each split.

    notes: where they came from, for the record. notices: lines for the user.
    """

    name: str
    tables: Mapping[str, Sequence[SourceTable]]
    notes: Mapping[str, str] = {}
    notices: Sequence[str] = ()


class Example(NamedTuple):
    """A row that can be used: a text and its label as text; of tagged texts lists of these.

    name: of a label that is a number, where the row has one. group: where groups are asked for.
    place: in its file.
    """

    text: Any
    label: Any = ""
    name: str = ""
    group: str = ""
    place: str = ""


class RowReader(Reading, Division):
    """Makes a data set of rows. The fields are those options of a task that say how.

    kind: of the data set. formats: endings of the files that it reads. class_folders: whether it
    reads a folder of text files for every class.
    """

    kind: ClassVar[type[DataSet]]
    formats: ClassVar[tuple[str, ...]]
    class_folders: ClassVar[bool] = False

    group_column: str = ""

    @abstractmethod
    def row(self, values: Mapping[str, Any]) -> Example:
        """The row of these values, without its group; ZooError where it cannot be used."""

    def table(self, file: Path) -> SourceTable:
        """The rows of a file, or of a folder."""
        if not file.is_dir():
            return files.read_table(file, part_of(Reading, self))
        if flags := self.flags(Reading, besides=TextReading):
            raise ZooError(f"{listed(flags)}: for tables, and {file} is a folder of texts")
        return files.read_folder(file, self.encoding, labelled=self.class_folders)

    def held_out(self, rows: Sequence[Example]) -> tuple[str, list[int]]:
        """How rows for the test split are drawn, and which; ZooError for too few."""
        return "by text", self._stratified([""] * len(rows))

    def flags(self, of: type[BaseModel], besides: type[BaseModel] = BaseModel) -> list[str]:
        """The flags of those options of a model that are not as by default."""
        return list(changed_flags(part_of(of, self), besides).values())

    def columns(self) -> dict[str, str]:
        """The columns to read, each with the option that names it."""
        columns: dict[str, str] = {}
        for name in [name for name in type(self).model_fields if name.endswith("_column")]:
            flag, column = f"--{name.replace('_', '-')}", getattr(self, name)
            for each in split_list(column, f"{flag} ") if name == "text_column" else [column]:
                if each in columns:
                    raise ZooError(f"'{each}' is both {columns[each]} and {flag}")
                columns[each] = flag
        columns.pop("", None)
        return columns

    def tables(self, path: Path) -> dict[str, list[SourceTable]]:
        """The rows of each split of a file or a directory."""
        if not path.exists():
            raise ZooError(f"no file or directory '{path}'")
        formats = self.formats if self.file_format == "auto" else ()
        splits = files.split_files(path, formats, folders=self.class_folders)
        tables = {split: list(map(self.table, paths)) for split, paths in splits.items()}
        if (held := plain_name(path.name)) != path.name:  # the user has not seen its files
            for split, (table,) in tables.items():
                called = f"{split} of {held}" if len(tables) > 1 else held
                tables[split] = [table._replace(source=called)]
        return tables

    def examples(self, tables: Mapping[str, Sequence[SourceTable]]) -> tuple[Examples, list[str]]:
        """All examples of the tables of some splits, and notices; undivided.

        For scoring alone: any number, whatever their labels, which have their names. Raises
        ZooError, with all that is wrong.
        """
        if flags := self.flags(Division):
            raise ZooError(f"{listed(flags)}: for data that are divided, and these are read whole")
        errors, notices = list[str](), list[str]()
        rows = self._checked([*chain.from_iterable(tables.values())], errors, notices)
        if errors:
            raise DataError(list(dict.fromkeys(errors)))
        named = all(row.name for row in rows)
        return _examples(rows, [row.name if named else row.label for row in rows]), notices

    def data_set(self, raw: RawData) -> tuple[Any, list[str]]:
        """The data set of raw data, and notices.

        Without a test split the validation split is the test split, or train is divided, unless an
        option says where it comes from. Raises ZooError with all that is wrong.
        """
        tables, how, flags = dict(raw.tables), "as given", self.flags(Division)
        called = plain_name(raw.name)
        errors, reading, notices = list[str](), list[str](), list[str]()
        if flags and TEST in tables:
            errors.append(f"{listed(flags)}: for data without a test split, and {called} has one")
        elif self.test and len(flags) > 1:
            errors.append(f"{listed(flags)}: a test file, or a part held out, but not both")
        elif self.test:
            file = Path(self.test).expanduser()
            splits = self.tables(file)
            if TEST not in splits and len(splits) > 1:
                raise ZooError(f"--test {file} has no test split; there is: {', '.join(splits)}")
            tables[TEST] = splits.get(TEST) or next(iter(splits.values()))
            how = f"test split from {file.name}"
        elif TEST not in tables and VALIDATION in tables and not flags:
            tables[TEST] = tables.pop(VALIDATION)
            notices.append(f"{called} has no test split; its validation split is used")
        if TRAIN not in tables:
            raise ZooError(f"{called} has no train split; there is: {', '.join(tables)}")
        parts = {split: self._checked(each, errors, reading) for split, each in tables.items()}
        if self.kind is Corpus:  # tags may differ in case
            errors += spellings(called, chain.from_iterable(map(_flat, parts.values())))
        train = parts[TRAIN]
        if TEST not in parts and train:
            try:
                way, test = self.held_out(train)
                how = f"{way}, seed {self.split_seed}, {len(test)} of {len(train)} for test"
                notices.append(f"{called} has no test split; {how}")
                parts[TEST] = [train[row] for row in test]
                parts[TRAIN] = [train[row] for row in sorted({*range(len(train))}.difference(test))]
            except ZooError as error:
                errors.append(f"{called} has no test split and cannot be divided: {error}")
        if errors:
            raise DataError(list(dict.fromkeys(errors)))
        notes = {"split": how, **({"reading": "; ".join(reading)} if reading else {}), **raw.notes}
        unlike = in_one_split(parts) if self.kind.labels else []
        made = self._made(raw.name, parts, notes)
        return made, [*unlike, *reading, *notices, *raw.notices]

    def _checked(
        self, tables: Sequence[SourceTable], errors: list[str], notices: list[str]
    ) -> list[Example]:
        """The rows of tables that can be used.

        What is wrong with the columns and with the other rows is added to the errors or, where
        these rows are left out, to the notices.
        """
        rows = list[Example]()
        for table in tables:
            notices += table.notices
            if missing := self._missing(table):
                errors.append(f"{table.source} has no column {missing}")
                continue
            bad: dict[str, list[str]] = {}
            for place, values in table.rows.items():
                try:
                    if isinstance(values, ZooError):
                        raise values
                    row = self.row(values)._replace(group=self._group(values), place=place)
                    rows.append(row)
                except ZooError as error:
                    bad.setdefault(str(error), []).append(place)
            count, dropped = len(table.rows), sum(map(len, bad.values()))
            lines = [
                f"{table.source}, {listed(places, EXAMPLES)}: {what}"
                + (f" ({len(places)} of {count} rows)" if len(places) > 1 else "")
                for what, places in bad.items()
            ]
            if not count:
                errors.append(f"{table.source} is empty: it has no rows")
            elif self.drop_bad_rows and dropped == count:
                errors.append(f"{table.source}: no row can be used")
            elif self.drop_bad_rows:
                notices += [f"{line}; left out" for line in lines]
            elif lines:
                errors += [*lines[:-1], f"{lines[-1]}; --drop-bad-rows leaves such rows out"]
        return rows

    def _group(self, values: Mapping[str, Any]) -> str:
        group = values.get(self.group_column)
        if self.group_column and (is_missing(group) or is_blank(str(group))):
            raise ZooError(f"'{self.group_column}' (--group-column) is empty")
        return plain_label(str(group)) if self.group_column else ""

    def _missing(self, table: SourceTable) -> str:
        """The columns that a table lacks, with those that it has; empty if it lacks none."""
        missing = {n: flag for n, flag in self.columns().items() if n not in table.columns}
        places = [place for place, row in table.rows.items() if not isinstance(row, ZooError)]
        if not missing or not places:
            return ""
        names = ", ".join(f"'{column}' ({flag})" for column, flag in missing.items())
        hint = nearest(next(iter(missing)), [column[:40] for column in table.columns])
        if self.header and places[0] == "line 2" and files.TOKENS not in table.columns:
            hint += "; say --no-header if its first line is no header, and --delimiter if another "
            hint += "character divides its columns"
        return names + hint

    def _stratified(self, labels: Sequence[Hashable]) -> list[int]:
        return stratified(labels, self.split_seed, share=self.test_size or TEST_SHARE)

    def _made(
        self, name: str, parts: Mapping[str, Sequence[Example]], notes: dict[str, str]
    ) -> Any:
        """The data set of its splits; ZooError where they do not fit."""
        every = [row for rows in parts.values() for row in rows]
        if not self.kind.labels:
            splits = {s: _examples(rows, [row.label for row in rows]) for s, rows in parts.items()}
            return self.kind(name, splits, notes=notes)
        labels = sorted({*_flat(every)})
        are_numbers = all(re.fullmatch(r"-?\d{1,18}", label) for label in labels)
        labels = sorted(labels, key=int) if are_numbers else labels
        codes: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
        codes[None] = IGNORED
        names: dict[str, str] = {}
        if are_numbers and all(row.name for row in parts[TRAIN]):
            for row in every:
                if row.name and names.setdefault(row.label, row.name) != row.name:
                    what = f"{plain_name(name)}: label {row.label}"
                    raise ZooError(f"{what} has two names in '{NAMES_COLUMN}'")

        def coded(label: Any) -> Any:
            return [codes[tag] for tag in label] if isinstance(label, list) else codes[label]

        splits = {s: _examples(rows, [coded(r.label) for r in rows]) for s, rows in parts.items()}
        return self.kind(name, splits, [names.get(label, label) for label in labels], notes)


class LabelledTexts(RowReader):
    """Rows with a text and a label, or a folder of texts for every class.

    text_column: a column, or a comma list of columns whose texts are joined.
    """

    kind = Corpus
    formats = tuple(files.FORMATS)
    class_folders = True

    text_column: str = files.TEXT
    label_column: str = files.LABEL

    def row(self, values: Mapping[str, Any]) -> Example:
        label = label_of(f"'{self.label_column}'", values.get(self.label_column))
        name = values.get(NAMES_COLUMN)
        text = joined_text(values, split_list(self.text_column))
        return Example(text, label, plain_label(name) if isinstance(name, str) else "")

    def held_out(self, rows: Sequence[Example]) -> tuple[str, list[int]]:
        counts = Counter(row.label for row in rows)
        if single := [f"'{r.label}' ({r.place})" for r in rows if counts[r.label] < 2]:
            are = f"{len(single)} classes have" if len(single) > 1 else "1 class has"
            raise ZooError(f"{are} only one document, {listed(single, EXAMPLES)}")
        return "stratified", self._stratified([row.label for row in rows])


class TaggedTexts(RowReader):
    """Rows with a list of tokens and a list of tags; CoNLL files as ``read_conll`` reads them."""

    kind = TaggedCorpus
    formats = (*files.CONLL, ".jsonl", ".ndjson", ".json", ".parquet")

    tokens_column: str = files.TOKENS
    tags_column: str = files.TAGS

    def table(self, file: Path) -> SourceTable:
        if files.data_suffix(file) in files.CONLL:
            return files.read_conll(file, self.encoding)
        return super().table(file)

    def row(self, values: Mapping[str, Any]) -> Example:
        lists: list[Any] = [values.get(self.tokens_column), values.get(self.tags_column)]
        for column, each in zip((self.tokens_column, self.tags_column), lists, strict=True):
            if not isinstance(each, list):
                raise ZooError(f"'{column}' is no list but a {type(each).__name__}")
        tokens, tags = lists
        check_tokens("it", tokens, tags)
        what, ignored = f"a tag in '{self.tags_column}'", (IGNORED, str(IGNORED))
        return Example(tokens, [None if tag in ignored else label_of(what, tag) for tag in tags])


class PairedTexts(RowReader):
    """Lines of a source, a tab and a target. All pairs of one source are in the same split."""

    kind = Pairs
    formats = (".tsv", ".txt")

    def table(self, file: Path) -> SourceTable:
        text = files.read_text(file, self.encoding)
        return files.delimited(file.name, text, "\t", header=False, quotes=False)

    def row(self, values: Mapping[str, Any]) -> Example:
        if len(values) != 2:
            raise ZooError(f"{len(values)} columns, where SOURCE<TAB>TARGET has two")
        return Example(*(joined_text(values, [side]).strip() for side in values))

    def held_out(self, rows: Sequence[Example]) -> tuple[str, list[int]]:
        sources = list(dict.fromkeys(row.text for row in rows))
        drawn = {sources[number] for number in self._stratified([""] * len(sources))}
        return "by source", [number for number, row in enumerate(rows) if row.text in drawn]


class UnlabelledTexts(RowReader):
    """Texts to predict or to continue.

    Of a table a column or several, of a CoNLL file the lists of tokens, of a directory every file,
    of any other file and of stdin (``-``) every line. One may be empty, unless bad rows are left
    out.
    """

    text_column: str = files.TEXT

    def tables(self, path: Path) -> dict[str, list[SourceTable]]:
        return {TRAIN: [self.table(path)]}

    def table(self, file: Path) -> SourceTable:
        suffix, of_tables = files.data_suffix(file), self.flags(Reading, besides=TextReading)
        if file.is_dir() or of_tables or suffix in files.FORMATS:
            return super().table(file)
        if suffix not in files.CONLL_ONLY:
            return files.read_lines(file, self.encoding)
        table = files.read_conll(file, self.encoding)
        return table._replace(columns=[*table.columns, files.TEXT])

    def row(self, values: Mapping[str, Any]) -> Example:
        if isinstance(tokens := values.get(self.text_column, values.get(files.TOKENS)), list):
            check_tokens("it", tokens, tokens)
            return Example(tokens)
        columns = split_list(self.text_column)
        return Example(joined_text(values, columns, may_be_empty=not self.drop_bad_rows))


def joined_text(
    values: Mapping[str, Any], columns: Sequence[str], *, may_be_empty: bool = False
) -> str:
    """The texts in these columns, joined by a line end; those that are empty are left out.

    Raises ZooError where one is missing or not text, all are empty, or half a character is in it.
    """
    texts = [check_string(f"'{column}'", values.get(column)) for column in columns]
    texts = [text for text in texts if not is_blank(text)]
    if not texts and not may_be_empty:
        verb = "is" if len(columns) == 1 else "are"
        raise ZooError(f"{listed(f'{column!r}' for column in columns)} {verb} empty")
    return "\n".join(texts)


def label_of(what: str, value: Any) -> str:
    """A label or a tag as text, in plain form; ZooError for none, or several."""
    if is_missing(value) or (isinstance(value, str) and (is_blank(value) or value == r"\N")):
        raise ZooError(f"{what} is missing")
    if isinstance(value, int | float):
        value = str(value)
    if not isinstance(value, str):
        raise ZooError(f"{what} must be one text or number, not {value!r:.40}")
    return plain_label(check_string(what, value))


@cache
def plain_label(label: str) -> str:
    """A label in Unicode's form NFC, without outer spaces and without what nobody sees.

    ``1.0`` is ``1``: where a number is missing in a column, pandas writes the others so.
    """
    return re.sub(r"^(-?\d+)\.0+$", r"\1", seen(unicodedata.normalize("NFC", label)))


def in_one_split(parts: Mapping[str, Iterable[Example]]) -> list[str]:
    """A line for each split with labels that train lacks, or that lacks labels of train."""
    counts, lines = {split: Counter(_flat(rows)) for split, rows in parts.items()}, list[str]()
    for split in filter(lambda name: name != TRAIN, counts):
        untrained = ": errors where they are scored"
        for here, there, effect in ((TRAIN, split, ""), (split, TRAIN, untrained)):
            if labels := sorted(counts[here].keys() - counts[there].keys()):
                names = listed((f"'{label}' ({counts[here][label]})" for label in labels), EXAMPLES)
                lines.append(f"{here} has {names}, which {there} lacks{effect}")
    return lines


def _flat(rows: Iterable[Example]) -> Iterator[str]:
    """The labels of texts, or the tags of their tokens that count."""
    for row in rows:
        yield from (label for label in listed_label(row.label) if label is not None)


def _examples(rows: Sequence[Example], targets: list[Any]) -> Examples:
    return Examples([row.text for row in rows], targets, [row.group for row in rows if row.group])


def spellings(name: str, labels: Iterable[str]) -> list[str]:
    """An error for labels that differ in case or spaces only, with their numbers of texts."""
    counts, alike = Counter(labels), dict[str, list[str]]()
    for label, count in counts.most_common():
        form = plain_words(label).replace(" ", "")
        alike.setdefault(form, []).append(f"'{label}' ({count})")
    several = [" and ".join(group) for group in alike.values() if len(group) > 1]
    return [f"{name}: labels that look alike: {'; '.join(several)}"] if several else []


def stratified(labels: Sequence[Hashable], seed: int, *, share: float = TEST_SHARE) -> list[int]:
    """Indices of the test split, in ascending order.

    This share of every class, at least one document and not all, is for test; the same labels,
    seed and share give the same split on every machine. The only document of a class is for train.
    Raises ZooError for fewer than two.
    """
    if len(labels) < 2:
        raise ZooError(f"{len(labels)} of its texts are too few")
    indices_of: dict[Hashable, list[int]] = {}
    for index, label in enumerate(labels):
        indices_of.setdefault(label, []).append(index)
    # The usual stratified split leaves a small class out of test; here each is divided by itself.
    draw, test = Draw(seed), list[int]()
    for indices in indices_of.values():
        count = min(max(1, round(len(indices) * share)), len(indices) - 1)
        test += draw.sample(indices, count)
    return sorted(test)
