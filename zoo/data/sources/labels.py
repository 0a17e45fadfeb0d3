"""Labels of rows: their order, and those that are one label in several spellings."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from zoo.errors import ZooError

MERGE = "--merge-labels"
ACCENTS = range(0x300, 0x370)  # of Latin, Greek and Cyrillic letters, in Unicode


class Example(NamedTuple):
    """A text with its label, which is text as it is written.

    Of tagged texts, the text is a list of tokens and the label a list of tags, None for one that
    does not count. group: where groups are asked for. name: of the label, where the row has one.
    place: of the row, ``line 3``.
    """

    text: Any
    label: Any
    group: str = ""
    name: str = ""
    place: str = ""

    @property
    def labels(self) -> list[str]:
        """The label of a text, or the tags of its tokens that count."""
        given = self.label if isinstance(self.label, list) else [self.label]
        return [label for label in given if label is not None]


def ordered(labels: Iterable[str]) -> tuple[list[str], bool]:
    """The different labels in order, and whether all are whole numbers, which go by their values.

    Labels are text as written: ``1`` and ``01`` are two.
    """
    different = sorted(set(labels))
    if are_numbers := all(re.fullmatch(r"-?\d{1,18}", label) for label in different):
        different.sort(key=int)
    return different, are_numbers


def plain_label(label: str) -> str:
    """A label without differences of case, spaces and accents."""
    letters = unicodedata.normalize("NFD", label.casefold())
    return "".join(one for one in letters if not one.isspace() and ord(one) not in ACCENTS)


def spellings(examples: Iterable[Example]) -> list[dict[str, int]]:
    """Labels that differ in case, spaces or accents only, with their numbers, by one another.

    The most frequent of each comes first.
    """
    counts = Counter(label for one in examples for label in one.labels)
    found: dict[str, dict[str, int]] = {}
    for label, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        found.setdefault(plain_label(label), {})[label] = count
    return [its for its in found.values() if len(its) > 1]


def told_apart(alike: Iterable[Mapping[str, int]], *, merged: bool = False) -> str:
    """What a user should know of such labels, and the option that merges them."""
    kinds = (" and ".join(f"'{label}' ({n})" for label, n in its.items()) for its in alike)
    differ = f"labels that differ in case, spaces or accents only: {'; '.join(kinds)}"
    return f"{differ}; {MERGE} {'has made' if merged else 'makes'} one of them"


def spelled_as(examples: Iterable[Example], names: Iterable[str]) -> list[Example]:
    """The examples with these names in place of labels that differ from one in spelling only.

    Raises ZooError where two of the names differ in spelling only.
    """
    known: dict[str, str] = {}
    for name in names:
        if (other := known.setdefault(plain_label(name), name)) != name:
            raise ZooError(f"{MERGE} cannot be used: the model tells '{other}' from '{name}'")

    def spelled(label: Any) -> Any:
        if isinstance(label, list):
            return [spelled(tag) for tag in label]
        return label if label is None else known.get(plain_label(label), label)

    return [one._replace(label=spelled(one.label)) for one in examples]
