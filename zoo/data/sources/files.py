"""A corpus from labelled texts: in rows of files or the Hub, or in a folder for every class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.data_file import DataFile
from zoo.data.sources.row_reader import LabelledRows, RowReader
from zoo.data.sources.split_files import TRAIN
from zoo.data.sources.table_format import FORMATS
from zoo.data.sources.tables import Placed, Row, read_rows
from zoo.data.sources.text_columns import column_names, joined_text
from zoo.data.sources.train_test_split import DivisionError, stratified
from zoo.errors import ZooError

TEXT, LABEL = "text", "label"
NAMES_COLUMN = "label_text"
RARE = 10  # a class with fewer training texts, and a tenth of the largest's, is told of
SHOWN = 12  # classes that a notice names


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
    """Rows with a text and a label.

    text_column: a column, or a comma list of columns whose texts are joined. min_class: classes
    with fewer training texts, before these are divided, are left out.
    """

    text_column: str = TEXT
    label_column: str = LABEL
    group_column: str = ""
    min_class: int = 0

    formats = FORMATS
    more_columns = (NAMES_COLUMN,)
    class_folders = True

    @property
    def columns(self) -> dict[str, str]:
        columns = super().columns
        columns.pop(self.text_column, None)
        return {**dict.fromkeys(column_names(self.text_column), "text_column"), **columns}

    def given(self) -> list[str]:
        return [*super().given(), *(["--min-class"] if self.min_class else [])]

    def rows(self, file: DataFile, notices: list[str]) -> Iterator[Placed]:
        return read_rows(file, self.reading, notices)

    def name_labels(self, rows: Iterable[Row], features: Mapping[str, Any]) -> None:
        names = getattr(features.get(self.label_column), "names", None)
        if names and NAMES_COLUMN not in features:
            for row in rows:
                code = row[self.label_column]
                known = isinstance(code, int) and code >= 0
                row[NAMES_COLUMN] = names[code] if known else None

    def table(self, source: str, rows: Iterable[Placed], notices: list[str]) -> Table:
        columns = column_names(self.text_column)

        def parse(where: str, row: Row) -> tuple[str, str | int, str, str]:
            name = row.get(NAMES_COLUMN)
            return (
                joined_text(where, row, columns),
                _label(f"{where}: '{self.label_column}'", row.get(self.label_column)),
                name.strip() if isinstance(name, str) else "",
                self.group(where, row),
            )

        parsed = self.usable(source, rows, parse, notices)
        texts, labels, names, groups = map(list, zip(*parsed, strict=True))
        return Table(
            texts,
            _integers(labels),
            names if all(names) else None,
            groups if self.group_column else [],
        )

    def merged(self, tables: Sequence[Table]) -> Table:
        texts = [text for table in tables for text in table.texts]
        labels = [label for table in tables for label in table.labels]
        names = [name for table in tables for name in table.names or ()]
        groups = [group for table in tables for group in table.groups]
        return Table(texts, labels, names if len(names) == len(texts) else None, groups)

    def selected(self, name: str, splits: dict[str, Table], notices: list[str]) -> dict[str, Table]:
        if not self.min_class:
            return splits
        counts = Counter(splits[TRAIN].labels)
        found = {label: 0 for table in splits.values() for label in table.labels} | counts
        rare = {label: count for label, count in found.items() if count < self.min_class}
        if len(rare) > len(found) - 2:
            most = ", ".join(f"'{label}' ({n})" for label, n in counts.most_common(2))
            raise ZooError(
                f"--min-class {self.min_class} leaves too little: the largest are {most}"
            )
        kept = {
            split: table.take([i for i, label in enumerate(table.labels) if label not in rare])
            for split, table in splits.items()
        }
        if rare:
            dropped = sum(len(splits[s].labels) - len(kept[s].labels) for s in splits)
            classes = f"{len(rare)} class{'es' * (len(rare) > 1)}"
            notices.append(
                f"{classes} with fewer than {self.min_class} training texts left out "
                f"(--min-class), together {dropped} of all texts: {_counted(rare)}"
            )
        return kept

    def divided(self, name: str, table: Table) -> tuple[Table, Table, str]:
        single = [label for label, count in Counter(table.labels).items() if count < 2]
        if single:
            named = ", ".join(f"'{label}'" for label in single[:SHOWN])
            has = f"class {named} has" if len(single) == 1 else f"{len(single)} classes have"
            more = "" if len(single) == 1 else f" ({named}{', …' * (len(single) > SHOWN)})"
            raise DivisionError(
                f"{name} has no test split and cannot be divided: {has} only one document{more}; "
                "--min-class 2 leaves such classes out"
            )
        seed = self.division.split_seed
        train, test = stratified(table.labels, seed, share=self.test_share, what=name)
        share = f"{len(test)} of {len(table.labels)} for test"
        return table.take(train), table.take(test), f"stratified, seed {seed}, {share}"

    def corpus(
        self,
        name: str,
        train: Table,
        test: Table,
        validation: Table | None,
        notes: dict[str, str],
    ) -> Corpus:
        tables = [train, test, *([validation] if validation else [])]
        codes, label_names = _classes(name, tables)
        return Corpus(
            name=name,
            train_texts=train.texts,
            train_labels=[codes[label] for label in train.labels],
            test_texts=test.texts,
            test_labels=[codes[label] for label in test.labels],
            label_names=label_names,
            notes=notes,
            test_groups=test.groups,
            validation_texts=validation.texts if validation else [],
            validation_labels=[codes[label] for label in validation.labels] if validation else [],
        )

    def remarks(self, corpus: Corpus) -> list[str]:
        counts = Counter(corpus.train_labels)
        limit = min(RARE, max(counts.values()) / RARE)
        rare = {corpus.label_names[label]: n for label, n in counts.items() if n < limit}
        if not rare:
            return []
        has = f"{len(rare)} classes have" if len(rare) > 1 else "1 class has"
        return [
            f"{has} fewer than {RARE} training texts, and than a tenth of the largest class: "
            f"{_counted(rare)}; --min-class N leaves out classes with fewer than N"
        ]

    def labelled(self, table: Table) -> LabelledRows:
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


def _counted(classes: Mapping[Any, int]) -> str:
    """Classes with their numbers of texts, the rarest first, as many as a line has room for."""
    ordered = sorted(classes.items(), key=lambda item: (item[1], str(item[0])))
    named = ", ".join(f"'{label}' ({count})" for label, count in ordered[:SHOWN])
    return f"{named} and {len(ordered) - SHOWN} more" if len(ordered) > SHOWN else named


def _classes(name: str, tables: Sequence[Table]) -> tuple[dict[str | int, int], list[str]]:
    """The number of each label, and the classes' names."""
    labels = [label for table in tables for label in table.labels]
    integers = {x for x in labels if isinstance(x, int)}
    if integers and len(integers) < len(set(labels)):
        raise ZooError(f"{name}: some labels are numbers and some are text")
    ordered: list[Any] = sorted(set(labels))
    codes = {label: code for code, label in enumerate(ordered)}
    if not integers or tables[0].names is None:
        return codes, [str(label) for label in ordered]
    names: dict[str | int, str] = {}
    known = (zip(table.labels, table.names, strict=True) for table in tables if table.names)
    for label, text in chain.from_iterable(known):
        if names.setdefault(label, text) != text:
            raise ZooError(
                f"{name}: label {label} is '{names[label]}' in one row and '{text}' in another"
            )
    return codes, [names.get(label, str(label)) for label in ordered]
