"""From rows to a data set: files or Hub data give rows, and a reader makes a corpus of them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from zoo.config.flags import flag
from zoo.config.reading import Division, Reading, TextReading, given_flags
from zoo.data.sources.corpus import (
    IGNORED,
    TEST,
    TRAIN,
    VALIDATION,
    Corpus,
    TaggedCorpus,
    content_digest,
)
from zoo.data.sources.labels import MERGE, Example, ordered, spelled_as, spellings, told_apart
from zoo.data.sources.problems import find_columns, read_or_explain, usable
from zoo.data.sources.splits import TEST_SHARE, Advice, ScoringNotice, files_of_splits, read_folder
from zoo.data.sources.tables import Placed, Row, read_rows
from zoo.data.sources.text_file import DataFile, within
from zoo.errors import DataError, ZooError, listed
from zoo.registry.catalog import split_list

C = TypeVar("C", Corpus, TaggedCorpus)


@dataclass(frozen=True)
class RowReader(ABC, Generic[C]):
    """Makes a data set of rows; a frozen dataclass whose fields ``X_column`` name the columns.

    The field of ``--text-column`` is ``text_column``, and so on; one that is empty is not read.
    reading: how files are read. division: where the test split comes from.
    kind: the class of its data sets. formats: endings of the files that it reads. more_columns:
    those of Hub data that it reads where they are there. class_folders: it reads a folder of text
    files for every class.
    """

    kind: ClassVar[type[Corpus] | type[TaggedCorpus]]
    formats: ClassVar[tuple[str, ...]]
    more_columns: ClassVar[tuple[str, ...]] = ()
    class_folders: ClassVar[bool] = False

    group_column: str = field(default="", kw_only=True)
    reading: Reading = field(default=Reading(), kw_only=True)
    division: Division = field(default=Division(), kw_only=True)

    @abstractmethod
    def parse(self, where: str, row: Row) -> Example:
        """The example of a row, without its group; ZooError for a broken row."""

    @abstractmethod
    def divided(self, name: str, examples: list[Example]) -> tuple[list[int], list[int], str]:
        """Indices for train and test, and a note of how data without a test split are divided."""

    def rows(self, file: DataFile, notices: list[str]) -> Iterable[Placed]:
        """The rows of a file, or the error of one that is broken, each after its place.

        What a user should know is added to the notices. Raises ZooError for what cannot be read.
        """
        return read_rows(file, self.reading, notices)

    def selected(
        self, splits: dict[str, list[Example]], notices: list[str]
    ) -> dict[str, list[Example]]:
        """The splits with what is left of each; a reader may leave examples out, and say so."""
        return splits

    def remarks(self, corpus: C) -> list[Advice]:
        """Notices of what a user should know of the finished data set's splits."""
        return []

    @property
    def columns(self) -> dict[str, str]:
        """The columns to read, each with the field that names it."""
        found: dict[str, str] = {}
        for its in self._column_fields():
            value = getattr(self, its.name)
            columns = column_names(value) if its.name == "text_column" else [value]
            found |= {c: its.name for c in columns if c and c not in found}
        return found

    @property
    def test_share(self) -> float:
        """The share that is held out of data without a test split."""
        return TEST_SHARE if self.division.test_size is None else self.division.test_size

    def corrected(self, options: Mapping[str, Any]) -> Self:
        """The reader with these options in place of its own."""
        parts: dict[str, Any] = {}
        for name in ("reading", "division"):
            part = getattr(self, name)
            its = {one: value for one, value in options.items() if one in type(part).model_fields}
            parts[name] = part.model_copy(update=its)
        own = {f.name for f in fields(self)}
        return replace(self, **parts, **{n: v for n, v in options.items() if n in own})

    def read(self, path: Path, *, name: str, given_as: str = "") -> tuple[C, list[str]]:
        """The data set of a file, or of a directory with a train and a test file, and its notices.

        given_as: what errors call data that Python held, ``the DataFrame``. Raises ZooError, naming
        file and line, for files that cannot be read or do not fit.
        """
        notices: list[str] = []
        return self.make(name, self._splits(path, notices, given_as), notices, (path,))

    def read_undivided(self, path: Path, notices: list[str]) -> list[Example]:
        """All examples of a file, or of all splits of a directory; raises as ``read`` does.

        For scoring alone: any number, whatever their labels, which have their names.
        """
        of_reading = [*given_flags(self.reading).values(), MERGE]
        if given := [flag for flag in self.given() if flag not in of_reading]:
            raise ZooError(f"{listed(given)}: for data that are divided, and these are read whole")

        def read(options: Mapping[str, Any]) -> tuple[list[Example], list[str]]:
            told: list[str] = []
            splits: dict[str, list[Example]] = self.corrected(options)._splits(path, told)
            return [*chain.from_iterable(splits.values())], told

        examples, told = read_or_explain(read)
        notices += told
        if all(example.name for example in examples):
            examples = [example._replace(label=example.name) for example in examples]
        return examples

    def make(
        self,
        name: str,
        given_splits: Mapping[str, list[Example]],
        notices: Sequence[str] = (),
        read: Sequence[Path] = (),
    ) -> tuple[C, list[str]]:
        """The data set of the splits and its notices; without a test split, train is divided.

        The splits are ``train``, ``test`` and ``validation``. Without a test split the validation
        split is the test split, unless the division says where that comes from. notices: of reading
        the splits, kept in the notes. read: what was read. Raises ZooError for labels that do not
        fit.
        """
        splits = dict(given_splits)
        told: list[str] = list(notices)
        about: list[str] = []
        given = [flag for flag in given_flags(self.division).values() if flag != MERGE]
        if given and TEST in splits:
            raise ZooError(f"{listed(given)}: for data without a test split, and {name} has one")
        split = "as given"
        if path := self.division.test:
            if len(given) > 1:
                raise ZooError(f"{listed(given)}: a test file, or a part held out, but not both")
            test_file: Path = Path(path).expanduser()
            splits[TEST] = [*chain.from_iterable(self._splits(test_file, told).values())]
            split, read = f"test split from {test_file.name}", (*read, test_file)
        elif TEST not in splits and VALIDATION in splits and not given:
            splits[TEST] = splits.pop(VALIDATION)
            about = [f"{name} has no test split; its validation split is used"]
        splits = self.selected(self._merged(name, splits, told), told)
        if TEST not in splits:
            every = splits[TRAIN]
            train, test, split = self.divided(name, every)
            splits |= {TRAIN: [every[row] for row in train], TEST: [every[row] for row in test]}
            about = [f"{name} has no test split; {split}"]
        notes = {"split": split}
        if told:
            notes["reading"] = "; ".join(told)
        # The same data in another directory are the same data. The name of "." is empty.
        for one in (path for path in read if path.name):
            notes = {what: note.replace(str(one), one.name) for what, note in notes.items()}
        corpus: C = self._corpus(name, splits, notes)
        return corpus, [*told, *map(ScoringNotice, about), *self.remarks(corpus)]

    def _merged(
        self, name: str, splits: dict[str, list[Example]], notices: list[str]
    ) -> dict[str, list[Example]]:
        """The splits, with one label for several spellings of it where that is asked for.

        Otherwise a notice names these. Raises DataError where training lacks one of them.
        """
        alike = spellings(chain.from_iterable(splits.values()))
        if not alike:
            return splits
        merged, options = self.division.merge_labels, {"merge_labels": True}
        differ = told_apart(alike, merged=merged)
        if merged:
            notices.append(differ)
            kept = [next(iter(its)) for its in alike]
            return {split: spelled_as(its, kept) for split, its in splits.items()}
        known = {label for one in splits[TRAIN] for label in one.labels}
        if not known.issuperset(chain.from_iterable(alike)):
            raise DataError([f"{name}: {differ}"], options)
        notices.append(Advice(differ, options))
        return splits

    def _corpus(self, name: str, splits: Mapping[str, list[Example]], notes: dict[str, str]) -> C:
        """The data set of its splits; ZooError where they do not fit."""
        every = [*chain.from_iterable(splits.values())]
        labels, are_numbers = ordered(label for one in every for label in one.labels)
        codes: dict[str | None, int] = {
            None: IGNORED,
            **{label: code for code, label in enumerate(labels)},
        }
        names: dict[str, str] = {}
        if are_numbers and all(one.name for one in splits[TRAIN]):
            for one in every:
                if one.name and names.setdefault(one.label, one.name) != one.name:
                    both = f"'{names[one.label]}' in one row and '{one.name}' in another"
                    raise ZooError(f"{name}: label {one.label} is {both}")
        values: dict[str, Any] = {}
        texts_of, labels_of = self.kind.fields_of_split
        for split, its in splits.items():
            values[f"{split}_{texts_of}"] = [one.text for one in its]
            values[f"{split}_{labels_of}"] = [
                [codes[tag] for tag in label] if isinstance(label, list) else codes[label]
                for label in (one.label for one in its)
            ]
        values["label_names"] = [names.get(label, label) for label in labels]
        groups = [one.group for one in splits[TEST] if one.group]
        return cast(C, self.kind(name=name, notes=notes, test_groups=groups, **values))

    def split(self, source: str, rows: Iterable[Placed], notices: list[str]) -> list[Example]:
        """The examples of one table. source: what an error names.

        Where asked to, broken rows are left out, and a notice says which. Raises ZooError for these
        otherwise, and where there is no row or no row has one of the columns.
        """

        def parse(where: str, row: Row) -> Example:
            place = where.removeprefix(f"{source}, ")
            return self.parse(where, row)._replace(group=self._group(where, row), place=place)

        placed = list(rows)
        find_columns(source, placed, self.columns, notices, header=self.reading.header)
        parsed = list(usable(source, placed, parse, self.reading, notices))
        if not parsed:
            raise ZooError(f"{source}: no row can be used")
        return parsed

    def given(self) -> list[str]:
        """The flags of the options that are not about columns, as far as they were given."""
        return [*given_flags(self.reading).values(), *given_flags(self.division).values()]

    def refuse_columns(self, spec: str) -> None:
        """ZooError where an option of files was given for registered data."""
        if any(getattr(self, f.name) != f.default for f in self._column_fields()):
            options = listed([flag(f.name) for f in self._column_fields()])
            raise ZooError(f"{options} are for files and hub: data; '{spec}' has its own")
        if given := self.given():
            raise ZooError(f"{listed(given)}: for files and hub: data, and '{spec}' is neither")

    def refuse_formats(self, what: str) -> None:
        """ZooError where an option of how files are read was given for other data.

        what: which ``data are read otherwise``.
        """
        given = given_flags(self.reading)
        for of_rows in ("drop_bad_rows", "size_limit"):
            given.pop(of_rows, None)
        if given:
            raise ZooError(f"{listed(given.values())}: for files, and {what}")

    def _group(self, where: str, row: Row) -> str:
        """The group of a row; empty where no column of groups was asked for."""
        if not self.group_column:
            return ""
        value = row.get(self.group_column)
        if value is None or isinstance(value, list | dict) or not str(value).strip():
            raise ZooError(f"{where}: '{self.group_column}' (--group-column) is empty")
        return str(value).strip()

    def _splits(
        self, path: Path, notices: list[str], given_as: str = ""
    ) -> dict[str, list[Example]]:
        """The examples of each split of a file or a directory; given_as: as of ``read``."""
        if not path.exists():
            raise ZooError(f"no file or directory '{path}'")
        files = files_of_splits(
            within(path, self.reading), self.formats, self.reading, folders=self.class_folders
        )
        splits: dict[str, list[Example]] = {}
        for split, its_files in files.items():
            splits[split] = []
            for file in its_files:
                source = given_as and f"{split} of {given_as}" if len(files) > 1 else given_as
                splits[split] += self.split(
                    source or str(file), self._rows_of(file, notices), notices
                )
        return splits

    def _rows_of(self, file: DataFile, notices: list[str]) -> Iterable[Placed]:
        """The rows of a file, or of a folder for every class."""
        if not file.is_dir():
            return self.rows(file, notices)
        if given := given_flags(self.reading, besides=TextReading):
            folders = f"{file} has a folder for every class"
            raise ZooError(f"{listed(given.values())}: for tables, and {folders}")
        return read_folder(file, self.reading, notices, classes=True)

    def _column_fields(self) -> list[Field[Any]]:
        found = [field for field in fields(self) if field.name.endswith("_column")]
        return sorted(found, key=lambda field: field.name == "group_column")


@cache
def column_names(option: str) -> list[str]:
    """The columns that ``--text-column`` names: one, or a comma list."""
    return split_list(option, "--text-column ") or [option]


def examples_digest(examples: Sequence[Example]) -> str:
    """SHA-256 in hex of texts and labels."""
    texts, labels = [one.text for one in examples], [one.label for one in examples]
    return content_digest([json.dumps([texts, labels])])
