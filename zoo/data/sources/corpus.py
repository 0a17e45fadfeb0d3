"""What a data set is once it is loaded: labelled texts, tagged texts, plain texts, or pairs."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, Self

from zoo.errors import ZooError

TRAIN, TEST, VALIDATION = "train", "test", "validation"
IGNORED: Final = -100  # the tag of a token that is neither trained on nor scored

Pair = tuple[str, str]


class Labelled:
    """What ``Corpus`` and ``TaggedCorpus`` share: splits of texts with their labels."""

    fields_of_split: ClassVar[tuple[str, str]]  # as in ``train_texts``, ``train_labels``
    tagged: ClassVar[bool]  # a text is a list of tokens, and its label a list of their tags
    label: ClassVar[str]  # what an error calls one
    labels: ClassVar[str]  # and several
    single: ClassVar[str]  # the error where train has a single label

    name: str
    label_names: list[str]
    notes: dict[str, str]
    chance: float | None
    test_groups: list[str]

    def __post_init__(self) -> None:
        if len(set(self.label_names)) != len(self.label_names):
            raise ZooError(f"{self.name}: two {self.labels} have one name: {self.label_names}")
        if self.chance is not None and not 0 <= self.chance <= 1:
            raise ZooError(f"{self.name}: chance is a share from 0 to 1, not {self.chance!r}")
        seen: dict[str, set[int]] = {}
        for split, texts, labels in self.splits():
            what = f"{self.name}: {split}"
            if len(texts) != len(labels):
                raise ZooError(f"{what} has {len(texts)} texts but labels of {len(labels)}")
            if not texts:
                raise ZooError(f"{what} has no texts")
            examples = enumerate(zip(texts, labels, strict=True), start=1)
            found = (self._labels_of(f"{what} text {n}", *example) for n, example in examples)
            seen[split] = set().union(*found)
            if not seen[split]:
                raise ZooError(f"{what}: every tag is {IGNORED}, so that nothing is scored")
            if split == TEST and self.test_groups and len(self.test_groups) != len(texts):
                groups = f"{len(self.test_groups)} groups"
                raise ZooError(f"{what} has {len(texts)} texts but {groups}")
        for number, group in enumerate(self.test_groups, start=1):
            document = f"{self.name}: test document {number}"
            if not isinstance(group, str) or not group.strip():
                raise ZooError(f"{document} has the group {group!r}, which is none")
            check_characters(f"the group of {document}", group)
        train = seen[TRAIN]
        if len(train) < 2:
            raise ZooError(f"{self.name}: {self.single.format(self.label_names[train.pop()])}")
        for split, found_labels in seen.items():
            if unseen := sorted(found_labels - train):
                names = ", ".join(f"'{self.label_names[label]}'" for label in unseen)
                raise ZooError(f"{self.name}: {split} has {self.label} that train lacks: {names}")

    def _labels_of(self, what: str, text: Any, label: Any) -> set[int]:
        """The labels of a text; ZooError where text or label do not fit. what: which text."""
        if self.tagged:
            check_tokens(what, text, label)
            labels = [tag for tag in label if type(tag) is not int or tag != IGNORED]
        else:
            check_text(what, text)
            labels = [label]
        for each in labels:
            # numpy's integers and booleans would not survive a JSON file, nor compare as expected.
            if type(each) is not int or not 0 <= each < len(self.label_names):
                known = f"labels are int from 0 to {len(self.label_names) - 1}"
                raise ZooError(f"{what} has the label {each!r}; {known}")
        return set(labels)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of texts, labels, their names, splits and groups; the same everywhere."""
        pieces = [f"{self.labels} {len(self.label_names)}", *self.label_names]
        for split, texts, labels in self.splits():
            pieces.append(f"{split} {len(texts)}")
            for text, label in zip(texts, labels, strict=True):
                pieces += (
                    [str(len(text)), *text, *map(str, label)] if self.tagged else [str(label), text]
                )
        return content_digest([*pieces, *self.test_groups])

    def splits(self) -> Iterator[tuple[str, list[Any], list[Any]]]:
        """``train``, ``test`` and, if there is one, ``validation``, with their texts and labels."""
        for split in (TRAIN, TEST, VALIDATION):
            texts, labels = (getattr(self, f"{split}_{of}") for of in self.fields_of_split)
            if split != VALIDATION or texts or labels:
                yield split, texts, labels

    @cached_property
    def duplicates(self) -> int:
        """Test texts that are also in train, ignoring case and spacing."""
        texts = self._plain_texts()
        train = set(texts[TRAIN])
        return sum(text in train for text in texts[TEST])

    def without_duplicates(self) -> Self:
        """The data without train texts that are in test, and validation texts that are in either.

        The test split stays whole, so that scores remain comparable with published ones. Raises
        ZooError where no train text is left.
        """
        texts = self._plain_texts()
        notes: dict[str, str] = {}
        changed: dict[str, Any] = {}
        for split, others in ((TRAIN, {*texts[TEST]}), (VALIDATION, {*texts[TEST], *texts[TRAIN]})):
            given = texts.get(split, [])
            kept = [row for row, text in enumerate(given) if text not in others]
            if split == TRAIN and not kept:
                raise ZooError(f"{self.name}: every train document is also in test")
            if dropped := len(given) - len(kept):
                what = "duplicates" if split == TRAIN else f"duplicates of {split}"
                notes[what] = f"{dropped} dropped from {split}"
                for name in (f"{split}_{of}" for of in self.fields_of_split):
                    values = getattr(self, name)
                    changed[name] = [values[row] for row in kept]
        if not notes:
            return self
        made: Self = dataclasses.replace(self, **changed, notes={**self.notes, **notes})  # type: ignore[type-var]
        return made

    def _plain_texts(self) -> dict[str, list[str]]:
        """The texts of each split as ``plain_words``."""
        return {
            split: [plain_words(t if isinstance(t, str) else " ".join(t)) for t in texts]
            for split, texts, _ in self.splits()
        }


@dataclass(frozen=True)
class Corpus(Labelled):
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

    fields_of_split, tagged = ("texts", "labels"), False
    label, labels = "a class", "classes"
    single = "every train text is '{}'; a classifier needs two classes or more"


@dataclass(frozen=True)
class TaggedCorpus(Labelled):
    """Train and test texts as lists of tokens, with a tag for every token; checked when made.

    A tag is an index into ``label_names``, or ``IGNORED`` (-100). The rest is as in ``Corpus``;
    chance: the share of right tags by guessing. word_level: every token has one id, however small
    the vocabulary; otherwise tokens are divided into word pieces.
    Raises ZooError where a split is empty or has no tag that counts, a text has no tokens, a token
    is blank or not a string, a text has not one tag per token, train has fewer than two tags, test
    has a tag that train lacks, or groups do not fit.
    """

    name: str
    train_tokens: list[list[str]]
    train_tags: list[list[int]]
    test_tokens: list[list[str]]
    test_tags: list[list[int]]
    label_names: list[str]
    notes: dict[str, str] = field(default_factory=dict)
    chance: float | None = None
    test_groups: list[str] = field(default_factory=list)
    word_level: bool = False
    validation_tokens: list[list[str]] = field(default_factory=list)
    validation_tags: list[list[int]] = field(default_factory=list)

    fields_of_split, tagged = ("tokens", "tags"), True
    label, labels = "a tag", "tags"
    single = "every tag of train is '{}'; a tagger needs two tags or more"


@dataclass(frozen=True)
class Texts:
    """Training and validation texts. duplicates: validation texts that are also in train."""

    name: str
    train: list[str]
    validation: list[str]
    notes: dict[str, str] = field(default_factory=dict)
    duplicates: int = 0

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of texts and split; the same on every machine."""
        # "held": published fingerprints were computed with this word.
        return _split_digest({"train": self.train, "held": self.validation})


@dataclass(frozen=True)
class Pairs:
    """Training and test pairs; no side is empty, and no source is in both splits."""

    name: str
    train: list[Pair]
    test: list[Pair]
    notes: dict[str, str] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of pairs and split; the same on every machine."""
        return _split_digest({"train": self.train, "test": self.test})


def check_tokens(what: str, tokens: Sequence[object], tags: Sequence[object]) -> None:
    """ZooError where a text has no tokens, not one tag per token, or a token that is no text."""
    if not tokens:
        raise ZooError(f"{what} has no tokens")
    if len(tokens) != len(tags):
        raise ZooError(f"{what} has {len(tokens)} tokens but {len(tags)} tags")
    for place, token in enumerate(tokens, start=1):
        check_text(f"{what}: token {place}", token)


def check_text(what: str, text: object) -> None:
    """ZooError where a value is not a text, is blank, or has a lone surrogate."""
    if not isinstance(text, str):
        raise ZooError(f"{what} is not text but a {type(text).__name__}")
    if not text.strip():
        raise ZooError(f"{what} is empty")
    check_characters(what, text)


def check_characters(what: str, text: str) -> None:
    """ZooError where a text has a lone surrogate, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ZooError(
            f"{what} holds half a character (a lone surrogate) at position {error.start}"
        ) from error


def plain_words(text: str) -> str:
    """A text without differences of case and spacing; duplicates are equal by it."""
    return " ".join(text.casefold().split())


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


def _split_digest(splits: Mapping[str, Sequence[str | Pair]]) -> str:
    """SHA-256 in hex of the splits: the number of items, then an item's text or texts."""
    pieces: list[str | bytes] = []
    for split, items in splits.items():
        pieces.append(f"{split} {len(items)}:".encode())
        for item in items:
            pieces += [item] if isinstance(item, str) else item
    return content_digest(pieces)
