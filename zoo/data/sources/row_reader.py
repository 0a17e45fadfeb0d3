"""From rows to a data set: files or Hub data give rows, and a reader makes tables of them."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from zoo.data.sources.corpus import Corpus, content_digest
from zoo.data.sources.tables import Row
from zoo.data.sources.tagged_corpus import TaggedCorpus
from zoo.errors import ZooError, nearest

TEST_SPLITS = ("test", "validation", "valid", "dev")  # the first of them that there is
GROUP = "group_column"

T = TypeVar("T")  # the table of one split
C = TypeVar("C", Corpus, TaggedCorpus)


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


class RowReader(ABC, Generic[T, C]):
    """Makes a data set of rows; a frozen dataclass whose fields name the columns.

    The field of ``--text-column`` is ``text_column``, and so on; one that is empty is not read.
    formats: endings of the files that it reads. more_columns: those of Hub data that it reads
    where they are there.
    """

    formats: ClassVar[tuple[str, ...]]
    more_columns: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def rows(self, path: Path) -> Iterator[tuple[str, Row]]:
        """The rows of a file, each after its place; ZooError for what cannot be read."""

    @abstractmethod
    def name_labels(self, rows: Iterable[Row], features: Mapping[str, Any]) -> None:
        """Have the rows of Hub data hold the names that its features give to numbers."""

    @abstractmethod
    def table(self, source: str, rows: Iterable[tuple[str, Row]]) -> T:
        """The table of rows, each given after its place. source: what an error names."""

    @abstractmethod
    def merged(self, tables: Sequence[T]) -> T:
        """The rows of all tables, one table after another."""

    @abstractmethod
    def divided(self, name: str, table: T, seed: int) -> tuple[T, T, str]:
        """One table as train and test, and a note of how it was divided."""

    @abstractmethod
    def corpus(self, name: str, train: T, test: T, notes: dict[str, str]) -> C:
        """The data set of two tables; ZooError where they do not fit."""

    @abstractmethod
    def labelled(self, table: T) -> LabelledRows:
        """The rows of a table with the names of their labels."""

    @property
    def columns(self) -> dict[str, str]:
        """The columns to read, each with the field that names it."""
        named = ((getattr(self, f.name), f.name) for f in fields(self))  # type: ignore[arg-type]
        return {column: field for column, field in named if column}

    def read(self, path: Path, *, name: str, seed: int) -> tuple[C, list[str]]:
        """The data set of a file, or of a directory with a train and a test file, and its notices.

        Raises ZooError, naming file and row, for files that cannot be read or do not fit.
        """
        files = self._split_files(path) if path.is_dir() else {"train": [path]}
        splits = {
            split: self.merged([self.table(str(shard), self.rows(shard)) for shard in shards])
            for split, shards in files.items()
        }
        return self.make(name, splits, seed)

    def read_undivided(self, path: Path) -> LabelledRows:
        """All rows of a file, or of a directory's train and test files; raises as ``read`` does.

        For scoring alone: of any number of rows, whatever their labels.
        """
        splits = self._split_files(path).values() if path.is_dir() else [[path]]
        tables = [self.table(str(shard), self.rows(shard)) for shards in splits for shard in shards]
        return self.labelled(self.merged(tables))

    def make(self, name: str, splits: Mapping[str, T], seed: int) -> tuple[C, list[str]]:
        """The data set of the splits and its notices; without a test split, train is divided.

        The splits are ``train`` and any of `TEST_SPLITS`, of which the first is used. Labels that
        are strings are numbered in sorted order; integers keep their order, and take their names
        from the tables where these have names. Raises ZooError for labels that do not fit.
        """
        train, notices, split = splits["train"], list[str](), "as given"
        test_split = next((split for split in TEST_SPLITS if split in splits), None)
        if test_split:
            test = splits[test_split]
            if test_split != "test":
                notices.append(f"{name} has no test split; its {test_split} split is used")
        else:
            train, test, split = self.divided(name, train, seed)
            notices.append(f"{name} has no test split; {split}")
        return self.corpus(name, train, test, {"split": split}), notices

    def refuse_columns(self, spec: str) -> None:
        """ZooError where a column was given for data that have columns of their own."""
        if self != type(self)():
            options = [_option(column.name) for column in fields(self)]  # type: ignore[arg-type]
            raise ZooError(
                f"{', '.join(options[:-1])} and {options[-1]} are for files and hub: data; "
                f"'{spec}' has its own"
            )

    def check_columns(self, source: str, rows: Sequence[Row]) -> None:
        """ZooError where there are no rows, or no row has one of the columns."""
        if not rows:
            raise ZooError(f"{source} is empty: it has no rows")
        columns = dict.fromkeys(chain.from_iterable(rows))
        for column, field in self.columns.items():
            if column not in columns:
                raise ZooError(
                    f"{source} has no column '{column}' ({_option(field)})"
                    f"{nearest(column, columns)}"
                )

    def groups(self, source: str, rows: Iterable[tuple[str, Row]]) -> list[str]:
        """The group of every row as text; empty where no column of groups was asked for."""
        column = getattr(self, GROUP)
        found = []
        for place, row in rows if column else ():
            value = row.get(column)
            if value is None or isinstance(value, list | dict) or not str(value).strip():
                raise ZooError(f"{source}, {place}: '{column}' ({_option(GROUP)}) is empty")
            found.append(str(value).strip())
        return found

    def _split_files(self, directory: Path) -> dict[str, list[Path]]:
        """The files of each split; a split may be in shards, ``train-00000-of-00002``."""
        formats = self.formats
        files = sorted(
            f for f in directory.iterdir() if f.is_file() and f.suffix.lower() in formats
        )
        splits: dict[str, list[Path]] = {}
        for split in ("train", *TEST_SPLITS):
            name = re.compile(rf"{split}(-\d+-of-\d+)?")
            if found := [file for file in files if name.fullmatch(file.stem.lower())]:
                splits[split] = found
        if "train" not in splits:
            there = ", ".join(f.name for f in files[:8]) or "no data file"
            raise ZooError(
                f"{directory} has no train file (train{', train'.join(formats)}); there is: {there}"
            )
        used = next((split for split in TEST_SPLITS if split in splits), "train")
        splits = {split: splits[split] for split in ("train", used)}
        for found in splits.values():
            if len({f.suffix for f in found}) > 1 or len(found) > len({f.stem for f in found}):
                raise ZooError(
                    f"{directory} has two files for one split: {', '.join(f.name for f in found)}"
                )
        return splits


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"
