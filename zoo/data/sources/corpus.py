"""What a data set is once it is loaded: two splits of labelled texts."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from zoo.errors import ZooError


@dataclass(frozen=True)
class Corpus:
    """A labelled train and test split, checked when it is made.

    Texts and labels of a split are parallel lists; a label is an index into ``label_names``.
    notes: where it came from and how it was split, copied to the record. chance: the accuracy of
    guessing, where it is known. test_groups: the group of every test text (a length, a language, a
    year), by which scores are reported too; empty where there are none. word_level: every word
    between spaces is one token, however small the vocabulary. validation_texts: of a split that
    settings are chosen on; empty where there is none, and part of train is held out for that.
    Raises ZooError where a split is empty, a text is blank or not a string, train has fewer than
    two classes, test has a class that train lacks, or groups do not fit.
    """

    name: str
    train_texts: list[str]
    train_labels: list[int]
    test_texts: list[str]
    test_labels: list[int]
    label_names: list[str]
    notes: dict[str, str] = field(default_factory=dict)
    chance: float | None = None
    test_groups: list[str] = field(default_factory=list)
    word_level: bool = False
    validation_texts: list[str] = field(default_factory=list)
    validation_labels: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_chance_and_groups(self.name, self.chance, self.test_groups, len(self.test_texts))
        for split, texts, labels in self.splits():
            _check_split(f"{self.name}: {split}", texts, labels, self.label_names)
        if len(set(self.label_names)) != len(self.label_names):
            raise ZooError(f"{self.name}: two classes have one name: {self.label_names}")
        classes = set(self.train_labels)
        if len(classes) < 2:
            raise ZooError(
                f"{self.name}: every train document is '{self.label_names[classes.pop()]}'; "
                "a classifier needs two classes or more"
            )
        for split, _, labels in self.splits():
            if unseen := sorted(set(labels) - classes):
                names = ", ".join(f"'{self.label_names[label]}'" for label in unseen)
                raise ZooError(f"{self.name}: {split} has a class that train lacks: {names}")

    def splits(self) -> Iterator[tuple[str, list[str], list[int]]]:
        """``train``, ``test`` and, if there is one, ``validation``, with their texts and labels."""
        yield "train", self.train_texts, self.train_labels
        yield "test", self.test_texts, self.test_labels
        if self.validation_texts or self.validation_labels:
            yield "validation", self.validation_texts, self.validation_labels

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of texts, labels, split and label names; the same on every machine."""
        pieces = [f"classes {len(self.label_names)}", *self.label_names]
        for split, texts, labels in self.splits():
            pieces.append(f"{split} {len(texts)}")
            for text, label in zip(texts, labels, strict=True):
                pieces += (str(label), text)
        return content_digest([*pieces, *self.test_groups])

    @cached_property
    def duplicates(self) -> int:
        """Test documents that are also in train, ignoring case and spacing."""
        train = {plain_words(text) for text in self.train_texts}
        return sum(plain_words(text) in train for text in self.test_texts)

    def without_duplicates(self) -> Corpus:
        """The corpus without the train documents that are also in test.

        Nor are validation documents kept that are in train or test. The test split stays whole, so
        that scores remain comparable with published ones. Raises ZooError where no train is left.
        """
        train, validation, notes = rows_apart(
            self.name, self.train_texts, self.test_texts, self.validation_texts
        )
        if not notes:
            return self
        return dataclasses.replace(
            self,
            train_texts=[self.train_texts[row] for row in train],
            train_labels=[self.train_labels[row] for row in train],
            validation_texts=[self.validation_texts[row] for row in validation],
            validation_labels=[self.validation_labels[row] for row in validation],
            notes={**self.notes, **notes},
        )


def rows_apart(
    name: str, train: Sequence[str], test: Sequence[str], validation: Sequence[str]
) -> tuple[list[int], list[int], dict[str, str]]:
    """Rows of train whose text is not in test, of validation whose is in neither, and notes.

    Texts are equal by ``plain_words``. The notes are empty where every row is kept.
    Raises ZooError where no row of train is left.
    """
    in_test, in_train = (set(map(plain_words, texts)) for texts in (test, train))
    kept = [row for row, text in enumerate(train) if plain_words(text) not in in_test]
    others = in_test | in_train
    apart = [row for row, text in enumerate(validation) if plain_words(text) not in others]
    if not kept:
        raise ZooError(f"{name}: every train document is also in test")
    notes = {}
    if dropped := len(train) - len(kept):
        notes["duplicates"] = f"{dropped} dropped from train"
    if dropped := len(validation) - len(apart):
        notes["duplicates of validation"] = f"{dropped} dropped from validation"
    return kept, apart, notes


def _check_split(what: str, texts: list[str], labels: list[int], names: list[str]) -> None:
    if len(texts) != len(labels):
        raise ZooError(f"{what} has {len(texts)} texts but {len(labels)} labels")
    if not texts:
        raise ZooError(f"{what} has no documents")
    for number, (text, label) in enumerate(zip(texts, labels, strict=True), start=1):
        if not isinstance(text, str):
            raise ZooError(f"{what} document {number} is not text but a {type(text).__name__}")
        if not text.strip():
            raise ZooError(f"{what} document {number} is empty")
        check_characters(f"{what} document {number}", text)
        # numpy's integers and booleans would not survive a JSON file, nor compare as expected.
        if type(label) is not int or not 0 <= label < len(names):
            raise ZooError(
                f"{what} document {number} has label {label!r}; "
                f"labels are int from 0 to {len(names) - 1}"
            )


def check_characters(what: str, text: str) -> None:
    """ZooError where a text has a lone surrogate, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ZooError(
            f"{what} holds half a character (a lone surrogate) at position {error.start}"
        ) from error


def check_chance_and_groups(
    name: str, chance: float | None, groups: Sequence[str], test: int
) -> None:
    """ZooError for a chance that is no share, or groups that are not one text per test text."""
    if chance is not None and not 0 <= chance <= 1:
        raise ZooError(f"{name}: chance is a share from 0 to 1, not {chance!r}")
    if groups and len(groups) != test:
        raise ZooError(f"{name}: test has {test} texts but {len(groups)} groups")
    for number, group in enumerate(groups, start=1):
        if not isinstance(group, str) or not group.strip():
            raise ZooError(f"{name}: test document {number} has the group {group!r}, which is none")
        check_characters(f"{name}: the group of test document {number}", group)


def plain_words(text: str) -> str:
    """A text without differences of case and spacing; duplicates are equal by it."""
    return " ".join(text.casefold().split())


def split_digest(splits: Mapping[str, Sequence[str | Sequence[str]]]) -> str:
    """SHA-256 in hex of the splits: the number of items, then an item's text or texts."""
    pieces: list[str | bytes] = []
    for split, items in splits.items():
        pieces.append(f"{split} {len(items)}:".encode())
        for item in items:
            pieces += [item] if isinstance(item, str) else item
    return content_digest(pieces)


def content_digest(pieces: Iterable[str | bytes]) -> str:
    """SHA-256 in hex of the pieces one after another; bytes go in as they are.

    A text goes in after its length, so that "ab", "c" and "a", "bc" differ.
    """
    digest = hashlib.sha256()
    for piece in pieces:
        if isinstance(piece, str):
            encoded = piece.encode()
            piece = b"%d:" % len(encoded) + encoded
        digest.update(piece)
    return digest.hexdigest()
