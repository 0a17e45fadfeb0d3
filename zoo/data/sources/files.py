"""A corpus from labelled texts in files: CSV, TSV, JSON lines, JSON and Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.tables import FORMATS, Row, read_rows
from zoo.data.sources.train_test_split import stratified
from zoo.errors import ZooError, nearest

NAMES_COLUMN = "label_text"
TEST_SPLITS = ("test", "validation", "valid", "dev")  # the first of them that there is


@dataclass(frozen=True)
class Table:
    """Texts and labels of one split; names: those of the labels, where a column has them."""

    texts: list[str]
    labels: list[str | int]
    names: list[str] | None = None

    def take(self, indices: Sequence[int]) -> Table:
        """The rows of these indices, in their order."""
        names = None if self.names is None else [self.names[i] for i in indices]
        return Table([self.texts[i] for i in indices], [self.labels[i] for i in indices], names)


def read_corpus(
    path: Path, *, name: str, text_column: str, label_column: str, seed: int
) -> tuple[Corpus, list[str]]:
    """The corpus of a file, or of a directory with a train and a test file, and its notices.

    Raises ZooError, naming file and row, for files that cannot be read or do not fit.
    """
    files = _split_files(path) if path.is_dir() else {"train": [path]}
    splits = {
        split: merge_tables(
            make_table(str(shard), read_rows(shard), text_column, label_column) for shard in shards
        )
        for split, shards in files.items()
    }
    return make_corpus(name, splits, seed)


def make_corpus(name: str, splits: Mapping[str, Table], seed: int) -> tuple[Corpus, list[str]]:
    """The corpus of the splits and its notices; without a test split, train is divided by the seed.

    The splits are ``train`` and any of `TEST_SPLITS`, of which the first is used. Labels that are
    strings are numbered in sorted order; integers keep their order, and take their names from the
    tables where these have names. Raises ZooError for labels that do not fit.
    """
    train, notices, split = splits["train"], list[str](), "as given"
    test_split = next((split for split in TEST_SPLITS if split in splits), None)
    if test_split:
        test = splits[test_split]
        if test_split != "test":
            notices.append(f"{name} has no test split; its {test_split} split is used")
    else:
        train_rows, test_rows = stratified(train.labels, seed, what=name)
        rows = len(train.labels)
        train, test = train.take(train_rows), train.take(test_rows)
        split = f"stratified, seed {seed}, {len(test_rows)} of {rows} for test"
        notices.append(f"{name} has no test split; {split}")
    codes, label_names = _classes(name, train, test)
    corpus = Corpus(
        name=name,
        train_texts=train.texts,
        train_labels=[codes[label] for label in train.labels],
        test_texts=test.texts,
        test_labels=[codes[label] for label in test.labels],
        label_names=label_names,
        notes={"split": split},
    )
    return corpus, notices


def make_table(
    source: str, rows: Iterable[tuple[str, Row]], text_column: str, label_column: str
) -> Table:
    """Texts and labels of rows, each given after its place. source: what an error names."""
    rows = list(rows)
    if not rows:
        raise ZooError(f"{source} is empty: it has no rows")
    columns = dict.fromkeys(chain.from_iterable(row for _, row in rows))
    for option, column in (("text", text_column), ("label", label_column)):
        if column not in columns:
            raise ZooError(
                f"{source} has no column '{column}' (--{option}-column){nearest(column, columns)}"
            )
    texts, labels, names = list[str](), list[str | int](), list[str]()
    for place, row in rows:
        text = row.get(text_column)
        if not isinstance(text, str):
            found = "missing" if text is None else f"not text but a {type(text).__name__}"
            raise ZooError(f"{source}, {place}: '{text_column}' is {found}")
        if not text.strip():
            raise ZooError(f"{source}, {place}: '{text_column}' is empty")
        texts.append(text)
        labels.append(_label(f"{source}, {place}: '{label_column}'", row.get(label_column)))
        name = row.get(NAMES_COLUMN)
        if isinstance(name, str) and name.strip():
            names.append(name.strip())
    return Table(texts, _integers(labels), names if len(names) == len(texts) else None)


def merge_tables(tables: Iterable[Table]) -> Table:
    """The rows of all tables, one table after another."""
    tables = list(tables)
    texts = [text for table in tables for text in table.texts]
    labels = [label for table in tables for label in table.labels]
    names = [name for table in tables for name in table.names or ()]
    return Table(texts, labels, names if len(names) == len(texts) else None)


def _split_files(directory: Path) -> dict[str, list[Path]]:
    """The files of each split; a split may be in shards, ``train-00000-of-00002``."""
    files = sorted(f for f in directory.iterdir() if f.is_file() and f.suffix.lower() in FORMATS)
    splits: dict[str, list[Path]] = {}
    for split in ("train", *TEST_SPLITS):
        name = re.compile(rf"{split}(-\d+-of-\d+)?")
        if found := [file for file in files if name.fullmatch(file.stem.lower())]:
            splits[split] = found
    if "train" not in splits:
        there = ", ".join(f.name for f in files[:8]) or "no data file"
        raise ZooError(
            f"{directory} has no train file (train{', train'.join(FORMATS)}); there is: {there}"
        )
    used = next((split for split in TEST_SPLITS if split in splits), "train")
    splits = {split: splits[split] for split in ("train", used)}
    for found in splits.values():
        if len({f.suffix for f in found}) > 1 or len(found) > len({f.stem for f in found}):
            raise ZooError(
                f"{directory} has two files for one split: {', '.join(f.name for f in found)}"
            )
    return splits


def _label(where: str, value: Any) -> str | int:
    """A label as a string or an integer; ZooError for none, a fraction, or a list."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip():
        return value.strip()
    if value is None or isinstance(value, str) or value != value:
        raise ZooError(f"{where} is missing")
    raise ZooError(f"{where} must be text or a whole number, not {value!r:.40}")


def _integers(labels: list[str | int]) -> list[str | int]:
    """The labels as integers if every one is written as one, because all cells of CSV are text."""
    if all(isinstance(x, int) or re.fullmatch(r"-?\d{1,18}", x) for x in labels):
        return [int(label) for label in labels]
    return labels


def _classes(name: str, train: Table, test: Table) -> tuple[dict[str | int, int], list[str]]:
    """The number of each label, and the classes' names."""
    labels = [*train.labels, *test.labels]
    integers = {x for x in labels if isinstance(x, int)}
    if integers and len(integers) < len(set(labels)):
        raise ZooError(f"{name}: some labels are numbers and some are text")
    ordered: list[Any] = sorted(set(labels))
    codes = {label: code for code, label in enumerate(ordered)}
    if not integers or train.names is None:
        return codes, [str(label) for label in ordered]
    names: dict[str | int, str] = {}
    for label, text in zip(labels, [*train.names, *(test.names or ())], strict=False):
        if names.setdefault(label, text) != text:
            raise ZooError(
                f"{name}: label {label} is '{names[label]}' in one row and '{text}' in another"
            )
    return codes, [names.get(label, str(label)) for label in ordered]
