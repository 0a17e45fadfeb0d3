"""Pools of texts that differ, drawn as arrays, so that a model may see each text once.

A diagnostic has as many training texts as a model may see (``train``), 500 to evaluate a training
on as it goes, and ``test`` texts for the score; no two texts are equal. All have ``length`` words.
With a ``test_length`` above it those to train on have any length up to ``length``, and the test
texts are in groups of lengths, as many texts in each: up to ``length``, then up to half of
``test_length``, then up to ``test_length`` (for 40 and 200: "to 40", "41 to 100", "101 to 200").
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from zoo.data.sources.corpus import (
    IGNORED,
    TEST,
    TRAIN,
    VALIDATION,
    Examples,
    Labelled,
    TaggedCorpus,
)
from zoo.data.sources.diagnostics.drawing import CONTROLS, HELD_OUT, SOURCE, need
from zoo.errors import ZooError

L = TypeVar("L", bound=Labelled)
Ints = npt.NDArray[np.int64]
LengthGroup = tuple[int, Sequence[int], str]  # how many texts, of which lengths, and their name
# Of draws, a number of texts and their length: the words of each, and its label or each word's; as
# numbers of their names, and IGNORED for a word without a label: (texts, length), and that or
# (texts).
DrawTexts = Callable[["Draws", int, int], tuple[Ints, Ints]]
# Of words and labels of texts the score of the best answers that need no skill. Shorter texts end
# in NO_WORD, with labels IGNORED.
Floor = Callable[[Ints, Ints], float]

ROUND = 1000  # texts drawn at once
MOST_TRIES = 20_000  # without a new text, before the texts are taken to be too few
NO_WORD = -1  # behind the words of a text that is shorter than others


class Draws:
    """Arrays of seeded draws that are the same on every machine and with every version of NumPy."""

    def __init__(self, seed: int) -> None:
        # NumPy promises the stream of this generator alone (NEP 19).
        self.random = np.random.RandomState(seed).random_sample

    def below(self, limit: int, *shape: int) -> Ints:
        """Integers from 0 to limit - 1."""
        return (self.random(shape) * limit).astype(np.int64)

    def orders(self, rows: int, items: int) -> Ints:
        """The numbers from 0 to items - 1 in a drawn order, in each of the rows (rows, items)."""
        return self.random((rows, items)).argsort(axis=1, kind="stable")


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

    shortest, step: possible lengths are shortest, shortest + step, and so on. Raises ZooError for
    sizes that are impossible, and test texts that do not divide among the groups.
    """
    need(name, train=(train, 1), test=(test, 1), length=(length, shortest))
    need(name, test_length=(test_length or length + 1, length + 1))
    any_length = range(shortest, length + 1, step)
    if not test_length:
        return [(train, any_length[-1:], ""), (test, any_length[-1:], "")]
    parts: list[LengthGroup] = [(train, any_length, "")]
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


def drawn(
    kind: type[L],
    name: str,
    draw_texts: DrawTexts,
    words: Sequence[str],
    label_names: Sequence[str],
    *,
    floor: Floor | None = None,
    controls: tuple[str, str] | None = None,
    seed: int = 0,
    train: int = 10_000,
    test: int = 1000,
    **sizes: Any,
) -> L:
    """A diagnostic of different texts, with as many of each class in every part.

    draw_texts: so many texts of a length. words, label_names: what its numbers stand for. floor: of
    the test texts; by default classes are as frequent, and nothing else is known. controls: a row
    that solves it with every seed, and one that cannot, whatever it learns; None: unknown. sizes:
    those of ``length_groups``. Where the numbers of texts do not divide among the classes, the
    first classes have one more.
    """
    training, *tests = length_groups(name, train=train, test=test, **sizes)
    # What is held out is drawn first, so that it does not depend on how many train.
    parts = {TEST: tests, VALIDATION: [(HELD_OUT, training[1], "")], TRAIN: [training]}
    longest = max(lengths[-1] for _, lengths, _ in [training, *tests])
    pool = _Pool(name, draw_texts, Draws(seed), longest, tagged=kind is TaggedCorpus)
    splits, names, chance = dict[str, Examples](), np.array(words, dtype=object), 0.0
    for split, several in parts.items():
        arrays = [pool.texts(count, lengths, label_names) for count, lengths, _ in several]
        symbols, labels = (np.concatenate(both) for both in zip(*arrays, strict=True))
        groups = [group for count, _, group in several if group for _ in range(count)]
        if split == TEST:
            chance = floor(symbols, labels) if floor else 1 / len(label_names)
        ends = (symbols != NO_WORD).sum(axis=1).tolist()
        texts = [row[:end] for row, end in zip(names[symbols].tolist(), ends, strict=True)]
        targets: list[Any] = labels.tolist()
        if kind is TaggedCorpus:
            targets = [row[:end] for row, end in zip(targets, ends, strict=True)]
        else:
            texts = list(map(" ".join, texts))
        splits[split] = Examples(texts, targets, groups)
    notes = {"source": SOURCE, "split": f"as drawn, seed {seed}"}
    named = dict(zip(CONTROLS, controls, strict=True)) if controls else {}
    return kind(name, splits, [*label_names], notes, chance, word_level=True, controls=named)


class _Pool:
    """Texts that are drawn, of which no two are equal."""

    def __init__(
        self, name: str, draw_texts: DrawTexts, draws: Draws, longest: int, *, tagged: bool
    ) -> None:
        self.name, self.draw_texts, self.draws = name, draw_texts, draws
        self.longest, self.tagged, self.seen = longest, tagged, set[bytes]()

    def texts(
        self, count: int, lengths: Sequence[int], label_names: Sequence[str]
    ) -> tuple[Ints, Ints]:
        """So many new texts of these lengths, all as likely, and their labels.

        Raises ZooError where there are too few.
        """
        names = [""] if self.tagged else label_names
        each, more = divmod(count, len(names))
        wanted = [each + (label < more) for label in range(len(names))]
        parts, missing, tries = list[tuple[Ints, Ints]](), count, 0
        while missing:
            symbols, labels = self._draw(lengths)
            kept, classes = list[int](), [0] * len(labels) if self.tagged else labels.tolist()
            for row, (text, label) in enumerate(zip(map(bytes, symbols), classes, strict=True)):
                if wanted[label] and text not in self.seen:
                    self.seen.add(text)
                    wanted[label] -= 1
                    kept.append(row)
            parts.append((symbols[kept], labels[kept]))
            missing -= len(kept)
            tries = 0 if kept else tries + len(symbols)
            if tries >= MOST_TRIES:
                own = names[next(label for label, number in enumerate(wanted) if number)]
                what = f"class '{own}'" if own else "that size"
                raise ZooError(f"{self.name} has too few different texts of {what}")
        symbols, labels = (np.concatenate(both) for both in zip(*parts, strict=True))
        return symbols, labels

    def _draw(self, lengths: Sequence[int]) -> tuple[Ints, Ints]:
        """A round of texts, of which some may be equal; all end in NO_WORD up to the longest."""
        places = self.draws.below(len(lengths), ROUND)
        symbols = np.full((ROUND, self.longest), NO_WORD)
        labels = np.full((ROUND, self.longest) if self.tagged else ROUND, IGNORED)
        for place, length in enumerate(lengths):
            rows = np.flatnonzero(places == place)
            drawn_words, drawn_labels = self.draw_texts(self.draws, len(rows), length)
            symbols[rows, :length] = drawn_words
            if self.tagged:
                labels[rows, :length] = drawn_labels
            else:
                labels[rows] = drawn_labels
        return symbols, labels


def most_frequent_label(words: Ints, labels: Ints) -> float:
    """The score of answering all of a text with the label that is most frequent in it.

    It is in reach of whatever sees which labels a text asks for, and not where each of them is.
    """
    counts = np.stack([(labels == n).sum(axis=1) for n in range(labels.max() + 1)])
    return float(counts.max(axis=0).sum() / counts.sum())


def of_own_word(words: Ints, labels: Ints) -> float:
    """The score of answering each word with the label that is most frequent for that word."""
    scored, width = labels != IGNORED, labels.max() + 1
    pairs = np.bincount((words * width + labels)[scored], minlength=(words.max() + 1) * width)
    return float(pairs.reshape(-1, width).max(axis=1).sum() / scored.sum())
