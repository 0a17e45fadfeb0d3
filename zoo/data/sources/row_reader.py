"""From rows to a data set: files or Hub data give rows, and a reader makes tables of them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from zoo.config.reading import Division, Reading, TextReading, given_flags
from zoo.data.sources.class_folders import class_folders, read_class_folders
from zoo.data.sources.corpus import Corpus, content_digest
from zoo.data.sources.data_file import DataFile, within
from zoo.data.sources.split_files import TEST, TRAIN, VALIDATION, split_files
from zoo.data.sources.tables import Placed, Row
from zoo.data.sources.tagged_corpus import TaggedCorpus
from zoo.data.sources.train_test_split import TEST_SHARE, ScoringNotice
from zoo.data.sources.usable_rows import listed, option_of, usable_rows
from zoo.errors import ZooError

GROUP = "group_column"

T = TypeVar("T")  # the table of one split
C = TypeVar("C", Corpus, TaggedCorpus)
X = TypeVar("X")


@dataclass(frozen=True)
class LabelledRows:
    """Texts, the names of the labels of each, and their groups if there are any.

    Of tagged texts, lists of tokens and of tags; None is a tag that does not count.
    """

    texts: list[Any]
    labels: list[Any]
    groups: list[str]

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of texts and labels."""
        return content_digest([json.dumps([self.texts, self.labels])])


@dataclass(frozen=True)
class RowReader(ABC, Generic[T, C]):
    """Makes a data set of rows; a frozen dataclass whose fields ``X_column`` name the columns.

    The field of ``--text-column`` is ``text_column``, and so on; one that is empty is not read.
    reading: how files are read. division: where the test split comes from.
    formats: endings of the files that it reads. more_columns: those of Hub data that it reads
    where they are there. class_folders: it reads a folder of text files for every class.
    """

    formats: ClassVar[tuple[str, ...]]
    more_columns: ClassVar[tuple[str, ...]] = ()
    class_folders: ClassVar[bool] = False

    reading: Reading = field(default=Reading(), kw_only=True)
    division: Division = field(default=Division(), kw_only=True)

    @abstractmethod
    def rows(self, file: DataFile, notices: list[str]) -> Iterator[Placed]:
        """The rows of a file, or the error of one that is broken, each after its place.

        What a user should know is added to the notices. Raises ZooError for what cannot be read.
        """

    @abstractmethod
    def name_labels(self, rows: Iterable[Row], features: Mapping[str, Any]) -> None:
        """Have the rows of Hub data hold the names that its features give to numbers."""

    @abstractmethod
    def table(self, source: str, rows: Iterable[Placed], notices: list[str]) -> T:
        """The table of rows, each given after its place. source: what an error names."""

    @abstractmethod
    def merged(self, tables: Sequence[T]) -> T:
        """The rows of all tables, one table after another."""

    @abstractmethod
    def divided(self, name: str, table: T) -> tuple[T, T, str]:
        """One table as train and test, and a note of how it was divided."""

    @abstractmethod
    def corpus(
        self, name: str, train: T, test: T, validation: T | None, notes: dict[str, str]
    ) -> C:
        """The data set of its splits; ZooError where they do not fit."""

    @abstractmethod
    def labelled(self, table: T) -> LabelledRows:
        """The rows of a table with the names of their labels."""

    def selected(self, name: str, splits: dict[str, T], notices: list[str]) -> dict[str, T]:
        """The splits with what is left of each; a reader may leave rows out, and say so."""
        return splits

    def remarks(self, corpus: C) -> list[str]:
        """Notices of what a user should know of the finished data set's splits."""
        return []

    @property
    def columns(self) -> dict[str, str]:
        """The columns to read, each with the field that names it."""
        named = ((getattr(self, field.name), field.name) for field in self._column_fields())
        return {column: field for column, field in named if column}

    @property
    def test_share(self) -> float:
        """The share that is held out of data without a test split."""
        return TEST_SHARE if self.division.test_size is None else self.division.test_size

    def read(
        self, path: Path, *, name: str, source: Callable[[DataFile], str] = str
    ) -> tuple[C, list[str]]:
        """The data set of a file, or of a directory with a train and a test file, and its notices.

        source: what an error about its rows calls a file. Raises ZooError, naming file and line,
        for files that cannot be read or do not fit.
        """
        notices: list[str] = []
        splits = {
            split: self._table_of(files, notices, source)
            for split, files in self._files(path).items()
        }
        return self.make(name, splits, notices, (path,))

    def read_undivided(self, path: Path, notices: list[str]) -> LabelledRows:
        """All rows of a file, or of all splits of a directory; raises as ``read`` does.

        For scoring alone: of any number of rows, whatever their labels.
        """
        of_reading = given_flags(self.reading).values()
        if given := [flag for flag in self.given() if flag not in of_reading]:
            raise ZooError(f"{listed(given)}: for data that are divided, and these are read whole")
        return self.labelled(self._whole(path, notices))

    def make(
        self,
        name: str,
        given_splits: Mapping[str, T],
        notices: Sequence[str] = (),
        read: Sequence[Path] = (),
    ) -> tuple[C, list[str]]:
        """The data set of the splits and its notices; without a test split, train is divided.

        The splits are ``train``, ``test`` and ``validation``. Without a test split the validation
        split is the test split, unless the division says where that comes from. Labels that are
        strings are numbered in sorted order; integers keep their order, and take their names from
        the tables where these have names. notices: of reading the splits, kept in the notes. read:
        what was read. Raises ZooError for labels that do not fit.
        """
        splits = dict(given_splits)
        told: list[str] = list(notices)
        about: str = ""
        given = list(given_flags(self.division).values())
        if given and TEST in splits:
            raise ZooError(f"{listed(given)}: for data without a test split, and {name} has one")
        split = "as given"
        if path := self.division.test:
            if len(given) > 1:
                raise ZooError(f"{listed(given)}: a test file, or a part held out, but not both")
            test_file = Path(path).expanduser()
            splits[TEST] = self._whole(test_file, told)
            split, read = f"test split from {test_file.name}", (*read, test_file)
        elif TEST not in splits and VALIDATION in splits and not given:
            splits[TEST] = splits.pop(VALIDATION)
            about = f"{name} has no test split; its validation split is used"
        splits = self.selected(name, splits, told)
        if TEST not in splits:
            train, test, split = self.divided(name, splits[TRAIN])
            splits |= {TRAIN: train, TEST: test}
            about = f"{name} has no test split; {split}"
        notes = {"split": split}
        if told:
            notes["reading"] = "; ".join(told)
        # The same data in another directory are the same data. The name of "." is empty.
        for one in (path for path in read if path.name):
            notes = {what: note.replace(str(one), one.name) for what, note in notes.items()}
        corpus: C = self.corpus(name, splits[TRAIN], splits[TEST], splits.get(VALIDATION), notes)
        of_splits: list[str] = [*([about] if about else []), *self.remarks(corpus)]
        return corpus, [*told, *map(ScoringNotice, of_splits)]

    def usable(
        self,
        source: str,
        placed: Iterable[Placed],
        parse: Callable[[str, Row], X],
        notices: list[str],
    ) -> list[X]:
        """What ``parse`` makes of every row, as of ``usable_rows``, with this reader's options."""
        return usable_rows(source, placed, parse, self.columns, self.reading, notices)

    def given(self) -> list[str]:
        """The flags of the options that are not about columns, as far as they were given."""
        return [*given_flags(self.reading).values(), *given_flags(self.division).values()]

    def refuse_columns(self, spec: str) -> None:
        """ZooError where an option of files was given for registered data."""
        if any(getattr(self, f.name) != f.default for f in self._column_fields()):
            options = listed([option_of(f.name) for f in self._column_fields()])
            raise ZooError(f"{options} are for files and hub: data; '{spec}' has its own")
        if given := self.given():
            raise ZooError(f"{listed(given)}: for files and hub: data, and '{spec}' is neither")

    def refuse_formats(self, what: str) -> None:
        """ZooError where an option of how files are read was given for other data.

        what: which ``data are read otherwise``.
        """
        given = given_flags(self.reading)
        given.pop("drop_bad_rows", None)
        if given:
            raise ZooError(f"{listed(given.values())}: for files, and {what}")

    def group(self, where: str, row: Row) -> str:
        """The group of a row; empty where no column of groups was asked for."""
        column = getattr(self, GROUP)
        if not column:
            return ""
        value = row.get(column)
        if value is None or isinstance(value, list | dict) or not str(value).strip():
            raise ZooError(f"{where}: '{column}' ({option_of(GROUP)}) is empty")
        return str(value).strip()

    def _files(self, path: Path) -> dict[str, list[DataFile]]:
        """The files of each split; of a folder for every class, the folder above these."""
        root = within(path)
        if not root.is_dir():
            return {TRAIN: [root]}
        splits = split_files(root, self.formats)
        if not splits and self.class_folders:
            splits = {split: [folder] for split, folder in class_folders(root).items()}
        if not splits:
            there = ", ".join(sorted(f.name for f in root.iterdir() if f.is_file())[:8])
            folders = " and no folder for every class" if self.class_folders else ""
            raise ZooError(
                f"{root} has no train file (train{', train'.join(self.formats)}){folders}; "
                f"there is: {there or 'no data file'}"
            )
        return splits

    def _whole(self, path: Path, notices: list[str]) -> T:
        """All rows of a file, or of all splits of a directory, as one table."""
        if not path.exists():
            raise ZooError(f"no file or directory '{path}'")
        return self.merged([self._table_of(files, notices) for files in self._files(path).values()])

    def _table_of(
        self,
        files: Iterable[DataFile],
        notices: list[str],
        source: Callable[[DataFile], str] = str,
    ) -> T:
        tables = []
        for file in files:
            read = self._folder_rows if file.is_dir() else self.rows
            tables.append(self.table(source(file), read(file, notices), notices))
        return self.merged(tables)

    def _folder_rows(self, folder: DataFile, notices: list[str]) -> Iterator[Placed]:
        given = [
            flag
            for name, flag in given_flags(self.reading).items()
            if name not in TextReading.model_fields
        ]
        if given:
            raise ZooError(
                f"{listed(given)}: for tables, and {folder} has a folder for every class"
            )
        return read_class_folders(folder, self.reading.encoding, notices)

    def _column_fields(self) -> list[Field[Any]]:
        return [field for field in fields(self) if field.name.endswith("_column")]
