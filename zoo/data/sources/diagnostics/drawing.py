"""What the generated data sets share: seeded draws, lengths with their groups, distinct texts.

``length`` is the most words of a training text. With a ``test_length`` above it the test texts are
in groups of lengths, as many texts in each: up to ``length``, then up to half of ``test_length``,
then up to ``test_length`` (for 40 and 200: "to 40", "41 to 100", "101 to 200").
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from zoo.data.sources.corpus import IGNORED, TEST, TRAIN, Corpus, Examples, Labelled, TaggedCorpus
from zoo.errors import ZooError

T = TypeVar("T")
L = TypeVar("L", bound=Labelled)
Words = list[str]
Tagged = tuple[list[str], list[str]]  # tokens, and the tag of each
LengthGroup = tuple[int, Sequence[int], str]  # how many texts, of which lengths, and their name

SOURCE = "built-in diagnostic"
MOST_TRIES = 20_000  # without a new text, before the texts are taken to be too few


class Draw:
    """Seeded draws that are the same on every machine and with every version of Python."""

    def __init__(self, seed: int) -> None:
        # Of all its methods only random() is promised to stay the same from Python to Python.
        self.random = random.Random(seed).random

    def below(self, limit: int) -> int:
        """An integer from 0 to limit - 1."""
        return int(self.random() * limit)

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.below(len(choices))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a drawn order."""
        return sorted(items, key=lambda _: self.random())

    def sample(self, items: Sequence[T], number: int) -> list[T]:
        """So many different items, in a drawn order."""
        return self.shuffled(items)[:number]


def need(name: str, **sizes: tuple[int, int]) -> None:
    """ZooError unless each size of a data set, the first number, is at least the second."""
    for size, (number, least) in sizes.items():
        if number < least:
            raise ZooError(f"{name} needs {size} >= {least}, not {number}")


def divided(texts: list[str], targets: list[Any], train: int) -> dict[str, Examples]:
    """The first so many texts for training, the others for the test."""
    test = Examples(texts[train:], targets[train:])
    return {TRAIN: Examples(texts[:train], targets[:train]), TEST: test}


def length_groups(
    name: str,
    *,
    train: int,
    test: int,
    length: int,
    shortest: int,
    step: int = 1,
    test_length: int = 0,
) -> list[LengthGroup]:
    """The training part, and the test parts: one, or one for each group of lengths.

    shortest, step: lengths are shortest, shortest + step, and so on. Raises ZooError for sizes that
    are impossible, and test texts that do not divide among the groups.
    """
    need(name, train=(train, 1), test=(test, 1), length=(length, shortest))
    need(name, test_length=(test_length or length + 1, length + 1))
    parts: list[LengthGroup] = [(train, range(shortest, length + 1, step), "")]
    if not test_length:
        return [*parts, (test, parts[0][1], "")]
    bounds = [0, length, *([test_length // 2] if test_length // 2 > length else []), test_length]
    each, rest = divmod(test, len(bounds) - 1)
    if rest:
        raise ZooError(f"{name} needs a multiple of {len(bounds) - 1} test texts, not {test}")
    for low, high in itertools.pairwise(bounds):
        between = [n for n in range(shortest, high + 1, step) if n > low]
        if not between:
            raise ZooError(f"{name} has no text of {low + 1} to {high} words: raise test_length")
        group = f"{low + 1} to {high}" if low else f"to {high}"
        parts.append((each, between, group))
    return parts


def labelled_corpus(
    name: str,
    draw_text: Callable[[Draw, int], Words],
    label_of: Callable[[Words], str],
    label_names: Sequence[str],
    *,
    train: int = 6000,
    test: int = 1200,
    length: int = 40,
    **sizes: Any,
) -> Corpus:
    """A corpus of drawn texts without duplicates, with as many of each class in every part.

    draw_text: a text of about that many words; one whose length does not fit is drawn again.
    sizes: as of ``drawn``, besides ``kind``. Where the numbers of texts do not divide among the
    classes, the first classes have one more.
    """

    def draw_example(draw: Draw, length: int) -> tuple[Words, str]:
        words = draw_text(draw, length)
        return words, label_of(words)

    sizes |= {"train": train, "test": test, "length": length}
    return drawn(Corpus, name, draw_example, label_names, **sizes)


def drawn(
    kind: type[L],
    name: str,
    draw_example: Callable[[Draw, int], tuple[Words, Any]],
    label_names: Sequence[str],
    *,
    train: int = 4000,
    test: int = 600,
    seed: int = 0,
    source: str = SOURCE,
    **sizes: Any,
) -> L:
    """A data set of different texts; its labels or tags are equally likely by guessing.

    draw_example: words and a label, or tokens and their tags; an empty tag does not count.
    source: of the data, for the notes. sizes: those of ``length_groups``.
    """
    draw, seen, tagged = Draw(seed), set[str](), kind is TaggedCorpus
    codes = {"": IGNORED, **{label: code for code, label in enumerate(label_names)}}
    training, *tests = length_groups(name, train=train, test=test, **sizes)
    classes = [""] if tagged else label_names
    splits: dict[str, Examples] = {}
    for split, parts in ((TRAIN, [training]), (TEST, tests)):
        texts, labels, groups = list[Any](), list[Any](), list[str]()
        for count, lengths, group in parts:
            each, more = divmod(count, len(classes))
            wanted = Counter({label: each + (n < more) for n, label in enumerate(classes)})
            tries = 0
            while wanted.total():
                words, label = draw_example(draw, draw.pick(lengths))
                text, own = " ".join(words), "" if tagged else label
                tries += 1
                if tries > MOST_TRIES:
                    what = f"class '{own}'" if own else "that size"
                    raise ZooError(f"{name} has too few different texts of {what}")
                if wanted[own] and len(words) in lengths and text not in seen:
                    seen.add(text)
                    wanted[own] -= 1
                    tries = 0
                    texts.append(words if tagged else text)
                    labels.append([codes[tag] for tag in label] if tagged else codes[label])
            groups += [group] * count if group else []
        splits[split] = Examples(texts, labels, groups)
    notes = {"source": source, "split": f"as drawn, seed {seed}"}
    chance = 1 / len(label_names)
    return kind(name, splits, list(label_names), notes, chance, word_level=True)
