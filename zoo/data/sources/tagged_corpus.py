"""What a data set with a tag for every token is once it is loaded: two splits of tagged texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from zoo.data.sources.corpus import (
    check_chance_and_groups,
    check_characters,
    content_digest,
    plain_words,
    rows_apart,
)
from zoo.errors import ZooError

IGNORED: Final = -100  # the tag of a token that is neither trained on nor scored


@dataclass(frozen=True)
class TaggedCorpus:
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

    def __post_init__(self) -> None:
        check_chance_and_groups(self.name, self.chance, self.test_groups, len(self.test_tokens))
        seen = {
            split: _check_split(f"{self.name}: {split}", texts, tags, self.label_names)
            for split, texts, tags in self.splits()
        }
        if len(set(self.label_names)) != len(self.label_names):
            raise ZooError(f"{self.name}: two tags have one name: {self.label_names}")
        if len(seen["train"]) < 2:
            only = self.label_names[seen["train"].pop()]
            raise ZooError(
                f"{self.name}: every tag of train is '{only}'; a tagger needs two tags or more"
            )
        for split, tags in seen.items():
            if unseen := sorted(tags - seen["train"]):
                names = ", ".join(f"'{self.label_names[tag]}'" for tag in unseen)
                raise ZooError(f"{self.name}: {split} has a tag that train lacks: {names}")

    def splits(self) -> Iterator[tuple[str, list[list[str]], list[list[int]]]]:
        """``train``, ``test`` and, if there is one, ``validation``, with their tokens and tags."""
        yield "train", self.train_tokens, self.train_tags
        yield "test", self.test_tokens, self.test_tags
        if self.validation_tokens or self.validation_tags:
            yield "validation", self.validation_tokens, self.validation_tags

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of tokens, tags, split, names of tags and groups."""
        pieces = [f"tags {len(self.label_names)}", *self.label_names]
        for split, texts, tags in self.splits():
            pieces.append(f"{split} {len(texts)}")
            for tokens, its_tags in zip(texts, tags, strict=True):
                pieces += (str(len(tokens)), *tokens, *map(str, its_tags))
        return content_digest([*pieces, *self.test_groups])

    @cached_property
    def duplicates(self) -> int:
        """Test texts whose tokens are also a train text, ignoring case."""
        train = {plain_words(" ".join(tokens)) for tokens in self.train_tokens}
        return sum(plain_words(" ".join(tokens)) in train for tokens in self.test_tokens)

    def without_duplicates(self) -> TaggedCorpus:
        """The corpus without duplicates across splits, as ``Corpus`` has it."""
        train, validation, notes = rows_apart(
            self.name,
            *(
                [" ".join(tokens) for tokens in texts]
                for texts in (self.train_tokens, self.test_tokens, self.validation_tokens)
            ),
        )
        if not notes:
            return self
        return dataclasses.replace(
            self,
            train_tokens=[self.train_tokens[row] for row in train],
            train_tags=[self.train_tags[row] for row in train],
            validation_tokens=[self.validation_tokens[row] for row in validation],
            validation_tags=[self.validation_tags[row] for row in validation],
            notes={**self.notes, **notes},
        )


def _check_split(
    what: str, texts: list[list[str]], tags: list[list[int]], names: Sequence[str]
) -> set[int]:
    """The tags that occur; ZooError for what does not fit."""
    if len(texts) != len(tags):
        raise ZooError(f"{what} has {len(texts)} texts but {len(tags)} lists of tags")
    if not texts:
        raise ZooError(f"{what} has no texts")
    for number, (tokens, its_tags) in enumerate(zip(texts, tags, strict=True), start=1):
        check_tokens(f"{what} text {number}", tokens, its_tags)
        for tag in its_tags:
            if type(tag) is not int or not (tag == IGNORED or 0 <= tag < len(names)):
                raise ZooError(
                    f"{what} text {number} has the tag {tag!r}; tags are int from 0 to "
                    f"{len(names) - 1}, or {IGNORED}"
                )
    found = {tag for its_tags in tags for tag in its_tags} - {IGNORED}
    if not found:
        raise ZooError(f"{what}: every tag is {IGNORED}, so that nothing is scored")
    return found


def check_tokens(what: str, tokens: Sequence[object], tags: Sequence[object]) -> None:
    """ZooError where a text has no tokens, not one tag per token, or a token that is no text."""
    if not tokens:
        raise ZooError(f"{what} has no tokens")
    if len(tokens) != len(tags):
        raise ZooError(f"{what} has {len(tokens)} tokens but {len(tags)} tags")
    for place, token in enumerate(tokens, start=1):
        if not isinstance(token, str):
            raise ZooError(f"{what}: token {place} is not text but a {type(token).__name__}")
        if not token.strip():
            raise ZooError(f"{what}: token {place} is empty")
        check_characters(f"{what}: token {place}", token)
