"""A corpus from labelled texts in rows: of CSV, TSV, JSON lines, JSON, Parquet or the Hub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.data.sources.corpus import Corpus, check_characters
from zoo.data.sources.row_reader import LabelledRows, RowReader
from zoo.data.sources.tables import FORMATS, Row, read_rows
from zoo.data.sources.train_test_split import stratified
from zoo.errors import ZooError

NAMES_COLUMN = "label_text"


@dataclass(frozen=True)
class Table:
    """Texts and labels of one split.

    names: those of the labels, where a column has them. groups: of the texts, where asked for.
    """

    texts: list[str]
    labels: list[str | int]
    names: list[str] | None = None
    groups: list[str] = field(default_factory=list)

    def take(self, indices: Sequence[int]) -> Table:
        """The rows of these indices, in their order."""
        return Table(
            [self.texts[i] for i in indices],
            [self.labels[i] for i in indices],
            None if self.names is None else [self.names[i] for i in indices],
            [self.groups[i] for i in indices] if self.groups else [],
        )


@dataclass(frozen=True)
class LabelledTexts(RowReader[Table, Corpus]):
    """Rows with a text and a label."""

    text_column: str = "text"
    label_column: str = "label"
    group_column: str = ""

    formats = FORMATS
    more_columns = (NAMES_COLUMN,)

    def rows(self, path: Path) -> Iterator[tuple[str, Row]]:
        return read_rows(path)

    def name_labels(self, rows: Iterable[Row], features: Mapping[str, Any]) -> None:
        names = getattr(features.get(self.label_column), "names", None)
        if names and NAMES_COLUMN not in features:
            for row in rows:
                code = row[self.label_column]
                known = isinstance(code, int) and code >= 0
                row[NAMES_COLUMN] = names[code] if known else None

    def table(self, source: str, rows: Iterable[tuple[str, Row]]) -> Table:
        rows = list(rows)
        self.check_columns(source, [row for _, row in rows])
        text_column, label_column = self.text_column, self.label_column
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
        groups = self.groups(source, rows)
        return Table(texts, _integers(labels), names if len(names) == len(texts) else None, groups)

    def merged(self, tables: Sequence[Table]) -> Table:
        texts = [text for table in tables for text in table.texts]
        labels = [label for table in tables for label in table.labels]
        names = [name for table in tables for name in table.names or ()]
        groups = [group for table in tables for group in table.groups]
        return Table(texts, labels, names if len(names) == len(texts) else None, groups)

    def divided(self, name: str, table: Table, seed: int) -> tuple[Table, Table, str]:
        train, test = stratified(table.labels, seed, what=name)
        share = f"{len(test)} of {len(table.labels)} for test"
        return table.take(train), table.take(test), f"stratified, seed {seed}, {share}"

    def corpus(self, name: str, train: Table, test: Table, notes: dict[str, str]) -> Corpus:
        codes, label_names = _classes(name, train, test)
        return Corpus(
            name=name,
            train_texts=train.texts,
            train_labels=[codes[label] for label in train.labels],
            test_texts=test.texts,
            test_labels=[codes[label] for label in test.labels],
            label_names=label_names,
            notes=notes,
            test_groups=test.groups,
        )

    def labelled(self, table: Table) -> LabelledRows:
        for number, text in enumerate(table.texts, start=1):
            check_characters(f"document {number}", text)
        labels = table.names or [str(label) for label in table.labels]
        return LabelledRows(table.texts, labels, table.groups)


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
