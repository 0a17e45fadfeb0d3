"""What a data set is once it is loaded: splits of texts, with what is predicted of each text."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple, Self

from zoo.errors import ZooError

TRAIN, TEST, VALIDATION = SPLITS = ("train", "test", "validation")
SOLVED = 0.9  # of the way from chance to the best possible score
IGNORED: Final = -100  # the tag of a token that is neither trained on nor scored
OF_PYTHON = re.compile(r"(\w+)-\d+-rows-[0-9a-f]{8}")  # names of data that Python held


class Examples(NamedTuple):
    """The examples of a split, as parallel lists; a data set makes lists of other sequences.

    targets: what is predicted of each text; empty where the next token is. groups: the group of
    each text (a length, a language, a year), by which scores are reported too; or empty.
    """

    texts: Sequence[Any]
    targets: Sequence[Any] = ()
    groups: Sequence[str] = ()


@dataclass(frozen=True)
class DataSet:
    """Splits of examples; the subclasses say what a text and its target are.

    splits: ``train``, ``test`` and ``validation``, as far as there are these; each an ``Examples``,
    or a tuple with the fields of one. Settings are chosen on ``validation``; where it is missing,
    part of train is held out for that. label_names: the names of classes or tags. notes: where the
    data came from and how they were split, copied to the record. chance: the score of guessing, the
    best that needs no skill, where it is known. word_level: every word between spaces, or every
    token, has one id, however small the vocabulary. solved_at: the score from which on the task
    counts as solved; None: nine tenths of the way from chance to 1. controls: of a diagnostic the
    row that solves it with every seed, ``positive``, and one that cannot, whatever it learns,
    ``negative``; copied to the record.
    """

    labels: ClassVar[str] = ""  # what an error calls them; empty for data without any

    name: str
    splits: Mapping[str, Examples]
    label_names: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    chance: float | None = None
    word_level: bool = False
    solved_at: float | None = None
    controls: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        splits = {name: self.splits[name] for name in SPLITS if name in self.splits}
        if odd := sorted(self.splits.keys() - splits.keys()):
            raise ZooError(f"{self.called}: no split is called {odd[0]!r}, but {', '.join(SPLITS)}")
        parts = {name: Examples(*map(list, split)) for name, split in splits.items()}
        object.__setattr__(self, "splits", parts)

    @property
    def goal(self) -> float | None:
        """``solved_at``, or what it is where it is None; None without a chance level."""
        if self.solved_at is not None or self.chance is None:
            return self.solved_at
        return self.chance + SOLVED * (1 - self.chance)

    @property
    def called(self) -> str:
        """What messages call the data."""
        return plain_name(self.name)

    @property
    def train(self) -> Examples:
        """The examples to train on."""
        return self.splits[TRAIN]

    @property
    def test(self) -> Examples:
        """The examples that are scored."""
        return self.splits[TEST]

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of texts, targets, label names, groups and splits; the same everywhere."""
        digest, pieces = hashlib.sha256(), list[str | bytes]()
        if self.labels:
            pieces += [f"{self.labels} {len(self.label_names)}", *self.label_names]
        # After its length, so that "ab", "c" and "a", "bc" differ. Tokens and tags repeat.
        sized = functools.cache(lambda piece: f"{len(piece.encode())}:{piece}".encode())
        for name, split in self.splits.items():
            # "held", and bytes: published fingerprints were computed so.
            unlabelled = f"{name.replace(VALIDATION, 'held')} {len(split.texts)}:".encode()
            pieces.append(f"{name} {len(split.texts)}" if self.labels else unlabelled)
            for text, target in itertools.zip_longest(split.texts, split.targets):
                if isinstance(text, list):
                    tokens = [str(len(text)), *text, *map(str, target)]
                    pieces.append(b"".join(map(sized, tokens)))
                elif target is None or isinstance(target, str):
                    pieces += [text] if target is None else [text, target]
                else:
                    pieces += [str(target), text]
        pieces += self.splits[TEST].groups if TEST in self.splits else []
        for piece in pieces:
            digest.update(sized.__wrapped__(piece) if isinstance(piece, str) else piece)
        return digest.hexdigest()

    @functools.cached_property
    def duplicates(self) -> int:
        """Texts of the scored split that are also in train, ignoring case and spacing."""
        return self.copies(self._scored, TRAIN)

    def copies(self, split: str, other: str) -> int:
        """Texts of a split that are also in the other, ignoring case and spacing."""
        known = set(_plain(self.splits[other])) if other in self.splits else set()
        return sum(text in known for text in _plain(self.splits.get(split, Examples([]))))

    @property
    def _scored(self) -> str:
        return TEST if TEST in self.splits else VALIDATION

    def without_duplicates(self) -> Self:
        """The data without train texts that are scored, and validation texts that are in test.

        What is scored stays whole, so that scores remain comparable with published ones. Raises
        ZooError where no train text is left.
        """
        scored = set(_plain(self.splits[self._scored]))
        held_out = scored.union(*(_plain(self.splits[n]) for n in self.splits if n == VALIDATION))
        known = {TRAIN: held_out, VALIDATION: scored}
        splits, notes = dict(self.splits), dict(self.notes)
        for name, split in self.splits.items():
            texts = _plain(split) if name != self._scored else []
            kept = [row for row, text in enumerate(texts) if text not in known[name]]
            if len(kept) == len(texts):
                continue
            what = "duplicates" if name == TRAIN else f"duplicates of {name}"
            notes[what] = f"{len(texts) - len(kept)} dropped from {name}"
            splits[name] = Examples(*([values[row] for row in kept if values] for values in split))
            if not kept and name == TRAIN:
                others = " or ".join(other for other in splits if other != TRAIN)
                raise ZooError(f"{self.called}: every train document is also in {others}")
            if not kept:
                del splits[name]
        if notes == self.notes:
            return self
        return dataclasses.replace(self, splits=splits, notes=notes)


class Labelled(DataSet):
    """Texts with labels that are indices into ``label_names``; checked when they are made.

    Raises ZooError where a split is empty or does not fit, or train has fewer than two labels.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.label_names)) != len(self.label_names):
            raise ZooError(f"{self.called}: two {self.labels} have one name: {self.label_names}")
        if self.chance is not None and not 0 <= self.chance <= 1:
            raise ZooError(f"{self.called}: chance is a share from 0 to 1, not {self.chance!r}")
        for name in {TRAIN, TEST} - self.splits.keys():
            raise ZooError(f"{self.called}: there is no {name} split")
        for name, split in self.splits.items():
            self._check(f"{self.called}: {name}", *split)
        if len(trained := labels_in(self.train)) < 2:
            names = [self.label_names[label] for label in trained]
            raise ZooError(f"{self.called}: train has the {self.labels} {names}; two are needed")

    def trained_first(self) -> Self:
        """The same data with the labels that train lacks last: models have no outputs for these."""
        trained, number = labels_in(self.train), len(self.label_names)
        order = sorted(range(number), key=lambda label: label not in trained)
        if order == [*range(number)]:
            return self
        places = {IGNORED: IGNORED, **{label: place for place, label in enumerate(order)}}
        splits = {
            name: split._replace(
                targets=[
                    [places[tag] for tag in target] if isinstance(target, list) else places[target]
                    for target in split.targets
                ]
            )
            for name, split in self.splits.items()
        }
        names = [self.label_names[label] for label in order]
        return dataclasses.replace(self, splits=splits, label_names=names)

    def _check(self, what: str, texts: Any, labels: Any, groups: Any) -> None:
        """ZooError where a text, a label or a group of a split does not fit."""
        if not len(texts) == len(labels) == len(groups or texts) > 0:
            counts = f"{len(texts)} texts, labels of {len(labels)} and {len(groups)} groups"
            raise ZooError(f"{what} has {counts}")
        for number, group in enumerate(groups, start=1):
            check_text(f"the group of {what} text {number}", group)
        is_tagged, most = isinstance(self, TaggedCorpus), len(self.label_names) - 1
        known = {*range(most + 1), *([IGNORED] if is_tagged else [])}
        for number, (text, label) in enumerate(zip(texts, labels, strict=True), start=1):
            place = f"{what} text {number}"
            if is_tagged:
                check_tokens(place, text, label)
            else:
                check_text(place, text)
            # numpy's integers and booleans would not survive a JSON file.
            for each in (n for n in listed_label(label) if type(n) is not int or n not in known):
                raise ZooError(f"{place} has the label {each!r}; labels are int from 0 to {most}")
        if not labels_in(Examples(texts, labels)):
            raise ZooError(f"{what}: every tag is {IGNORED}, so that nothing is scored")


class Corpus(Labelled):
    """Texts with one class each."""

    labels = "classes"


class TaggedCorpus(Labelled):
    """Texts as lists of tokens, with a tag for every token; ``IGNORED`` (-100) does not count."""

    labels = "tags"


class Pairs(DataSet):
    """Source texts with target texts; no side is empty, and no source is in both splits."""


class Texts(DataSet):
    """Texts to train on and, as ``validation``, texts to score; they have no targets."""


def labels_in(examples: Examples) -> set[int]:
    """The labels of texts, or of their tokens; without ``IGNORED``."""
    return set(itertools.chain.from_iterable(map(listed_label, examples.targets))) - {IGNORED}


def listed_label(label: Any) -> list[Any]:
    """The labels of a text: one, or those of its tokens."""
    return label if isinstance(label, list) else [label]


def check_tokens(what: str, tokens: Sequence[Any], tags: Sequence[object]) -> None:
    """ZooError where a text has no tokens, not one tag per token, or a token that is no text.

    A token of nothing to see is one, and is unknown to every tokenizer.
    """
    if not tokens:
        raise ZooError(f"{what} has no tokens")
    if len(tokens) != len(tags):
        raise ZooError(f"{what} has {len(tokens)} tokens but {len(tags)} tags")
    if {*map(type, tokens)} == {str} and "".join(tokens).isascii() and all(map(str.strip, tokens)):
        return  # as most are: one by one takes ten times as long
    for place, token in enumerate(tokens, start=1):
        if not check_string(f"{what}: token {place}", token).strip():
            raise ZooError(f"{what}: token {place} is empty")


def check_text(what: str, text: object) -> None:
    """ZooError where a value is not a text, is blank, or has a lone surrogate."""
    if is_blank(check_string(what, text)):
        raise ZooError(f"{what} is empty")


def check_string(what: str, value: object) -> str:
    """The text; ZooError where it is none, or has a lone surrogate, which cannot be encoded."""
    if is_missing(value):
        raise ZooError(f"{what} is missing")
    if not isinstance(value, str):
        raise ZooError(f"{what} is not text but a {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ZooError(
            f"{what} holds half a character (a lone surrogate) at position {error.start}"
        ) from error
    return value


def is_missing(value: object) -> bool:
    """Whether it is None, or a number that is none or infinite."""
    return value is None or value != value or value in (math.inf, -math.inf)


def is_unseen(character: str) -> bool:
    """Whether nobody sees a character, which is no space: one of control or format."""
    return unicodedata.category(character) in ("Cc", "Cf") and not character.isspace()


def seen(text: str) -> str:
    """A text without what nobody sees and without outer spaces."""
    return "".join(c for c in text if not is_unseen(c)).strip()


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be read, or tokenizers leave all of it out.

    It has only spaces, what nobody sees, characters of private use, and marks without a letter.
    """
    unread = ("Co", "Cs", "Mn")
    return all(
        c.isspace() or is_unseen(c) or unicodedata.category(c) in unread or c == "\ufffd"
        for c in text
    )


def plain_name(name: str) -> str:
    """What messages call data: ``the DataFrame`` for ``DataFrame-60-rows-c198ae15``."""
    held = OF_PYTHON.fullmatch(name)
    return f"the {held[1]}" if held else name


def plain_words(text: str) -> str:
    """A text without differences of case and spacing; duplicates are equal by it."""
    return " ".join(text.casefold().split())


def whole_text(text: str | Sequence[str]) -> str:
    """A text, or a list of tokens as one text."""
    return text if isinstance(text, str) else " ".join(text)


def _plain(split: Examples) -> list[str]:
    """The texts of a split as ``plain_words``."""
    return [plain_words(whole_text(text)) for text in split.texts]
