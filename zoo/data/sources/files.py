"""Reading labelled texts from CSV, TSV, JSON lines, JSON and Parquet files."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.train_test_split import stratified
from zoo.errors import ZooError, nearest, one_line

FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
NAMES_COLUMN = "label_text"
# A data set without a test split is scored on its validation split before it is divided anew.
_TEST_NAMES = ("test", "validation", "valid", "dev")


@dataclass(frozen=True)
class Table:
    """Texts and labels of one split as they stand in a file; ``names`` where it gives them."""

    texts: list[str]
    labels: list[str | int]
    names: list[str] | None

    def rows(self, indices: Sequence[int]) -> Table:
        """The rows of these indices, in their order."""
        return Table(
            [self.texts[i] for i in indices],
            [self.labels[i] for i in indices],
            None if self.names is None else [self.names[i] for i in indices],
        )


def read_corpus(
    path: Path, *, name: str, text_column: str, label_column: str, seed: int
) -> tuple[Corpus, list[str]]:
    """The corpus of a file, or of a directory with a train and a test file, and its notices.

    One file, or a directory without a test file, is divided by the seed. String labels are
    numbered in sorted order; whole numbers keep their order, and take their names from a column
    ``label_text`` where there is one.
    Raises ZooError, naming file and row, for whatever does not fit.
    """
    notices: list[str] = []
    train_files, test_files = [path], list[Path]()
    if path.is_dir():
        train_files, test_files = _split_files(path)
        if test_files and not _is_split(test_files[0], "test"):
            notices.append(f"{name} has no test split; {test_files[0].name} stands for it")
    train = _read_tables(train_files, text_column, label_column)
    if test_files:
        test = _read_tables(test_files, text_column, label_column)
        split = "as given"
    else:
        kept, held = stratified(train.labels, seed, what=name)
        train, test = train.rows(kept), train.rows(held)
        split = f"stratified, seed {seed}, {len(held)} of {len(kept) + len(held)} for test"
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


def read_table(path: Path, text_column: str, label_column: str) -> Table:
    """Texts and labels of one file; ZooError naming file and row where one is missing or broken."""
    rows, columns = _read(path)
    if not rows:
        raise ZooError(f"{path} is empty: it has no rows")
    for flag, column in (("text", text_column), ("label", label_column)):
        if column not in columns:
            raise ZooError(
                f"{path} has no column '{column}' (--{flag}-column){nearest(column, columns)}"
            )
    texts, labels, names = [], list[str | int](), list[str]()
    for number, row in enumerate(rows, start=1):
        where = f"{path}, row {number}"
        text = row.get(text_column)
        if not isinstance(text, str):
            found = "missing" if text is None else f"no text but a {type(text).__name__}"
            raise ZooError(f"{where}: '{text_column}' is {found}")
        if not text.strip():
            raise ZooError(f"{where}: '{text_column}' is empty")
        texts.append(text)
        labels.append(_label(f"{where}: '{label_column}'", row.get(label_column)))
        name = row.get(NAMES_COLUMN)
        if isinstance(name, str) and name.strip():
            names.append(name.strip())
    return Table(texts, _whole_numbers(labels), names if len(names) == len(texts) else None)


def _read_tables(paths: Sequence[Path], text_column: str, label_column: str) -> Table:
    """The files' rows one after another."""
    tables = [read_table(path, text_column, label_column) for path in paths]
    names = [name for table in tables for name in table.names or ()]
    texts = [text for table in tables for text in table.texts]
    labels = [label for table in tables for label in table.labels]
    return Table(texts, labels, names if len(names) == len(texts) else None)


def _split_files(directory: Path) -> tuple[list[Path], list[Path]]:
    """The files of train and of test; a split may come in shards, ``train-00000-of-00002``."""
    files = sorted(f for f in directory.iterdir() if f.is_file() and f.suffix.lower() in FORMATS)
    train = [f for f in files if _is_split(f, "train")]
    if not train:
        there = ", ".join(f.name for f in files[:8]) or "no data file"
        raise ZooError(
            f"{directory} has no train file (train{', train'.join(FORMATS)}); there is: {there}"
        )
    test = next((t for n in _TEST_NAMES if (t := [f for f in files if _is_split(f, n)])), [])
    for found in (train, test):
        if len({f.suffix for f in found}) > 1 or len(found) > len({f.stem for f in found}):
            raise ZooError(
                f"{directory} has two files for one split: {', '.join(f.name for f in found)}"
            )
    return train, test


def _is_split(file: Path, split: str) -> bool:
    return re.fullmatch(rf"{split}(-\d+-of-\d+)?", file.stem.lower()) is not None


def _read(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows by column name, and the columns in the order of the file."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ZooError(f"{path} is of no format the zoo reads ({', '.join(FORMATS)})")
    if suffix == ".parquet":
        return _read_parquet(path)
    text = _decoded(path)
    if not text.strip():
        raise ZooError(f"{path} is empty")
    if suffix in (".csv", ".tsv"):
        return _read_csv(path, text, "\t" if suffix == ".tsv" else ",")
    rows = _read_json(path, text)
    return rows, list(dict.fromkeys(column for row in rows for column in row))


def _decoded(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ZooError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ZooError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} in line {line}"
        ) from error


def _read_csv(path: Path, text: str, separator: str) -> tuple[list[dict[str, Any]], list[str]]:
    import pandas as pd

    try:
        # Everything stays text: a document may well read "null", and a label "007".
        frame = pd.read_csv(io.StringIO(text), sep=separator, dtype=str, keep_default_na=False)
    except ValueError as error:  # pandas' own parser errors are ValueErrors
        raise ZooError(f"{path} cannot be read: {one_line(error)}") from error
    if not isinstance(frame.index, pd.RangeIndex):
        raise ZooError(f"{path} has rows with more fields than its header names")
    columns = [str(column) for column in frame.columns]
    cells = [frame[column].tolist() for column in frame.columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)], columns


def _read_json(path: Path, text: str) -> list[dict[str, Any]]:
    """Rows of JSON lines, or of one JSON array of objects."""
    try:
        if text.lstrip().startswith("["):
            rows = json.loads(text)
        else:
            # Only the newline ends a line: splitlines would also cut at U+2028 inside a text.
            lines = enumerate(text.split("\n"), start=1)
            rows = [_json_line(path, number, line) for number, line in lines if line.strip()]
    except (json.JSONDecodeError, RecursionError) as error:
        raise ZooError(f"{path} is broken JSON: {one_line(error)}") from error
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise ZooError(f"{path}, row {number} is no object but a {type(row).__name__}")
    return list(rows)


def _json_line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ZooError(
            f"{path} is broken JSON in line {number}, column {error.colno}: {error.msg}"
        ) from error


def _read_parquet(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise ZooError(f"{path} cannot be read: {one_line(error)}") from error
    return table.to_pylist(), list(table.column_names)


def _label(where: str, value: Any) -> str | int:
    """A label as a string or a whole number; ZooError for none, a fraction, or a list."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.strip():
        return value.strip()
    if value is None or isinstance(value, str) or value != value:
        raise ZooError(f"{where} is missing")
    raise ZooError(f"{where} must be text or a whole number, not {value!r:.40}")


def _whole_numbers(labels: list[str | int]) -> list[str | int]:
    """The labels as numbers where every one of them is written as one (CSV knows text alone)."""
    if all(isinstance(x, int) or re.fullmatch(r"-?\d{1,18}", x) for x in labels):
        return [int(label) for label in labels]
    return labels


def _classes(name: str, train: Table, test: Table) -> tuple[dict[str | int, int], list[str]]:
    """The number of each label, and the classes' names."""
    labels = [*train.labels, *test.labels]
    numbers = {x for x in labels if isinstance(x, int)}
    if numbers and len(numbers) < len(set(labels)):
        raise ZooError(f"{name}: some labels are numbers and some are text")
    ordered: list[Any] = sorted(set(labels))
    codes = {label: code for code, label in enumerate(ordered)}
    if not numbers or train.names is None:
        return codes, [str(label) for label in ordered]
    named: dict[str | int, str] = {}
    for label, text in zip(labels, [*train.names, *(test.names or ())], strict=False):
        if named.setdefault(label, text) != text:
            raise ZooError(
                f"{name}: label {label} is '{named[label]}' in one row and '{text}' in another"
            )
    return codes, [named.get(label, str(label)) for label in ordered]
