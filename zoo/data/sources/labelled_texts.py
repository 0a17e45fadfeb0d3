"""A corpus from rows with a text and a label, or from a folder of texts for every class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.data.sources.corpus import TRAIN, Corpus, check_characters
from zoo.data.sources.labels import Example, spellings, told_apart
from zoo.data.sources.row_reader import RowReader, column_names
from zoo.data.sources.splits import SHOWN, Advice, DivisionError, stratified
from zoo.data.sources.tables import FORMATS, NAMES_COLUMN, Row
from zoo.errors import ZooError, listed

RARE = 10  # a class with fewer training texts, and a tenth of the largest's, is told of


@dataclass(frozen=True)
class LabelledTexts(RowReader[Corpus]):
    """Rows with a text and a label, or a folder of texts for every class.

    text_column: a column, or a comma list of columns whose texts are joined. min_class: classes
    with fewer training texts, before these are divided, are left out.
    """

    text_column: str = "text"
    label_column: str = "label"
    min_class: int = 0

    kind = Corpus
    formats = FORMATS
    more_columns = (NAMES_COLUMN,)
    class_folders = True

    def given(self) -> list[str]:
        return [*super().given(), *(["--min-class"] if self.min_class else [])]

    def parse(self, where: str, row: Row) -> Example:
        text = joined_text(where, row, column_names(self.text_column))
        label = _label(f"{where}: '{self.label_column}'", row.get(self.label_column))
        name = row.get(NAMES_COLUMN)
        return Example(text, label, name=name.strip() if isinstance(name, str) else "")

    def selected(
        self, splits: dict[str, list[Example]], notices: list[str]
    ) -> dict[str, list[Example]]:
        if not self.min_class:
            return splits
        counts = Counter(one.label for one in splits[TRAIN])
        found = {one.label: 0 for its in splits.values() for one in its} | counts
        rare = {label: count for label, count in found.items() if count < self.min_class}
        if len(rare) > len(found) - 2:
            most = ", ".join(f"'{label}' ({n})" for label, n in counts.most_common(2))
            raise ZooError(
                f"--min-class {self.min_class} leaves too little: the largest are {most}"
            )
        kept = {s: [one for one in its if one.label not in rare] for s, its in splits.items()}
        if rare:
            dropped = sum(len(splits[split]) - len(kept[split]) for split in splits)
            classes = f"{len(rare)} class{'es' * (len(rare) > 1)}"
            notices.append(
                f"{classes} with fewer than {self.min_class} training texts left out "
                f"(--min-class), together {dropped} of all texts: {_counted(rare)}"
            )
        return kept

    def divided(self, name: str, examples: list[Example]) -> tuple[list[int], list[int], str]:
        seed, labels = self.division.split_seed, [one.label for one in examples]
        counts = Counter(labels)
        single = {one.label: one.place for one in examples if counts[one.label] < 2}
        if alike := [its for its in spellings(examples) if single.keys() & its.keys()]:
            raise DivisionError([told_apart(alike)], {"merge_labels": True})
        if single:
            named = [f"'{label}' ({place})" for label, place in single.items()]
            are = f"{len(named)} classes have" if len(named) > 1 else "1 class has"
            raise DivisionError(
                [
                    f"{name} has no test split and cannot be divided: {are} only one document, "
                    f"{listed(named, SHOWN)}; --min-class 2 leaves such classes out"
                ],
                {"min_class": 2},
            )
        train, test = stratified(labels, seed, share=self.test_share)
        return train, test, f"stratified, seed {seed}, {len(test)} of {len(labels)} for test"

    def remarks(self, corpus: Corpus) -> list[Advice]:
        counts = Counter(corpus.train_labels)
        limit = min(RARE, max(counts.values()) / RARE)
        rare = {corpus.label_names[label]: n for label, n in counts.items() if n < limit}
        if not rare:
            return []
        has = f"{len(rare)} classes have" if len(rare) > 1 else "1 class has"
        return [
            Advice(
                f"{has} fewer than {RARE} training texts, and than a tenth of the largest class: "
                f"{_counted(rare)}; --min-class N leaves out classes with fewer than N"
            )
        ]


def joined_text(where: str, row: Row, columns: Iterable[str]) -> str:
    """The texts in these columns, joined by a line end; those that are empty are left out.

    Raises ZooError where one is missing or not text, all are empty, or half a character is in it.
    """
    texts = []
    for column in columns:
        text = row.get(column)
        if not isinstance(text, str):
            found = "missing" if text is None else f"not text but a {type(text).__name__}"
            raise ZooError(f"{where}: '{column}' is {found}")
        check_characters(f"{where}: '{column}'", text)
        if text.strip():
            texts.append(text)
    if not texts:
        names = [f"'{column}'" for column in columns]
        raise ZooError(f"{where}: {' and '.join(names)} {'is' if len(names) == 1 else 'are'} empty")
    return "\n".join(texts)


def _label(where: str, value: Any) -> str:
    """A label as text; ZooError for none, a fraction, or a list."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str) and value.strip():
        check_characters(where, value)
        return value.strip()
    if value is None or isinstance(value, str) or value != value:
        raise ZooError(f"{where} is missing")
    raise ZooError(f"{where} must be text or a whole number, not {value!r:.40}")


def _counted(classes: Mapping[str, int]) -> str:
    """Classes with their numbers of texts, the rarest first, as many as a line has room for."""
    by_count = sorted(classes.items(), key=lambda item: (item[1], item[0]))
    named = ", ".join(f"'{label}' ({count})" for label, count in by_count[:SHOWN])
    return f"{named} and {len(by_count) - SHOWN} more" if len(by_count) > SHOWN else named
