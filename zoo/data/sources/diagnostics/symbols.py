"""Texts of a few symbols, each with the answer to one question of counting or of order; pairs.

``built_in.toml`` names the sources; of most it is appendix A of Delétang et al. 2023.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from zoo.data.sources.corpus import Corpus, Pairs
from zoo.data.sources.diagnostics.drawing import (
    CONTROLS,
    HELD_OUT,
    SOURCE,
    Draw,
    divided,
    need,
)
from zoo.data.sources.diagnostics.pool import Draws, Ints, drawn
from zoo.data.sources.diagnostics.recall import DIGITS, EVEN_OR_ODD, FUSED, UNORDERED
from zoo.errors import ZooError

BITS, HIDDEN, LOST = ("zero", "one"), 2, 3
OPERATIONS = ("plus", "minus", "times")
labelled = partial(drawn, Corpus)


def even_pairs(*, train: int = 36_000, length: int = 16, **sizes: Any) -> Corpus:
    """Even pairs: whether the number of unequal neighbours is even.

    It is exactly where the first symbol equals the last, so that a model must tell these two places
    from all others. Raises ZooError for impossible sizes.
    """

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        bits = draws.below(2, number, length)
        return bits, bits[:, 0] ^ bits[:, -1]

    def by_counts(words: Ints, labels: Ints) -> float:
        """The score of the likelier class where only the numbers of both symbols are known."""
        counts = np.stack([(words == bit).sum(axis=1) for bit in (0, 1)])
        whole = counts.sum(axis=0)
        equal = (counts * (counts - 1)).sum(axis=0) / (whole * (whole - 1))
        return float(np.maximum(equal, 1 - equal).mean())

    sizes |= {"shortest": 2, "length": length, "train": train}
    sizes |= {"floor": by_counts, "controls": (FUSED, UNORDERED)}
    return labelled("even-pairs", texts, BITS, EVEN_OR_ODD, **sizes)


def modular(*, train: int = 40_000, length: int = 9, **sizes: Any) -> Corpus:
    """Modular arithmetic: the value modulo five of sums and products.

    "two plus three times four" is four. Raises ZooError for impossible sizes.
    """

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        words = draws.below(len(DIGITS), number, length)
        words[:, 1::2] = len(DIGITS) + draws.below(len(OPERATIONS), number, length // 2)
        plus, _, times = range(len(DIGITS), len(DIGITS) + len(OPERATIONS))
        total, product = np.zeros_like(words[:, 0]), words[:, 0]
        for sign, value in zip(words.T[1::2], words.T[2::2], strict=True):
            total = np.where(sign == times, total, total + product) % len(DIGITS)
            product = np.where(
                sign == times, product * value, np.where(sign == plus, value, -value)
            )
            product %= len(DIGITS)
        return words, (total + product) % len(DIGITS)

    sizes |= {"shortest": 3, "step": 2, "length": length, "train": train}
    return labelled("modular", texts, [*DIGITS, *OPERATIONS], DIGITS, **sizes)


def missing_duplicate(*, train: int = 24_000, length: int = 20, **sizes: Any) -> Corpus:
    """Missing duplicate: the symbol that is hidden in one of two equal halves.

    It is at its place in the other half. One thing differs from the source: there the hidden symbol
    is the only one that is missing. Counts alone then decide the class, because every symbol occurs
    an even number of times in two equal halves. Here ``lost`` stands, in the same half, for a
    symbol unlike the hidden one. Two texts with these two symbols exchanged have the same words as
    often, in each half too, and different classes: every classifier by counts is right for one of
    the two. Raises ZooError for impossible sizes.
    """

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        half, hidden = draws.below(2, number, length // 2), draws.below(2, number)
        places = draws.orders(*half.shape)[:, :2]
        np.put_along_axis(half, places, np.stack([hidden, 1 - hidden], axis=1), 1)
        words = np.concatenate([half, half], axis=1)
        places += draws.below(2, number, 1) * half.shape[1]
        np.put_along_axis(words, places, np.array([[HIDDEN, LOST]]), 1)
        return words, hidden

    sizes |= {"shortest": 4, "step": 2, "length": length, "train": train}
    sizes["controls"] = FUSED, UNORDERED
    return labelled("missing-duplicate", texts, [*BITS, "hidden", "lost"], BITS, **sizes)


ORDERED = ("how", "are", "you")
ORDERS = tuple(itertools.permutations(range(len(ORDERED))))
ORDER_NAMES = [" ".join(ORDERED[word] for word in order) for order in ORDERS]
FILLERS = (
    "about above after again also away back before below beside both by down each early ever "
    "far few first for from here in inside into just last late like many more most much near "
    "never next now of off often on once only other out over past quite rather since so some "
    "soon still such than that then there this through till to today too under until up very "
    "well when while with within yet"
).split()
# The fewest fillers before the first of the three words, and how many different numbers of fillers
# are possible on each side. With two or more there are enough different bags of words.
FEWEST, EDGE = 2, 4


def order(*, seed: int = 0, train: int = 18_000, test: int = 1002, max_distance: int = 8) -> Corpus:
    """Order: only the order of the words ``how``, ``are`` and ``you`` decides the class.

    They stand once each among filler words, next to one another or far apart, anywhere in the text.
    Every text is written in all six orders, in the same split, so that a bag of words gives the
    same answer for all six and scores exactly 1/6. An encoding by symmetric distance cannot
    distinguish a text from its reverse. It can solve the task because the tokenizer puts [CLS] in
    front: the distance from it is a word's position.

    train, test: numbers of documents, multiples of six. max_distance: the greatest distance from
    one of the three words to the next; distances are 1, 2, 4 and so on up to it. Raises ZooError
    for impossible sizes.
    """
    orders = len(ORDERS)
    if min(train, test, max_distance) < 1 or train % orders or test % orders:
        raise ZooError(f"order needs max_distance >= 1, train and test to be multiples of {orders}")
    held_out = HELD_OUT // orders
    frames = _frames(Draw(seed), (train + test) // orders + held_out, max_distance)
    texts = [
        frame.format(*(ORDERED[word] for word in order)) for frame in frames for order in ORDERS
    ]
    labels = list(range(orders)) * len(frames)
    splits = divided(texts, labels, train, test)
    how = f"as written, seed {seed}, max_distance {max_distance}"
    notes = {"source": SOURCE, "split": how}
    controls = dict(zip(CONTROLS, (FUSED, UNORDERED), strict=True))
    return Corpus("order", splits, [*ORDER_NAMES], notes, chance=1 / orders, controls=controls)


def _frames(draw: Draw, number: int, max_distance: int) -> list[str]:
    """Documents with {} for each of the three words; no two have the same bag of words."""
    distances = [2**power for power in range(max_distance.bit_length())]
    frames: dict[tuple[str, ...], str] = {}
    while len(frames) < number:
        before, after = FEWEST + draw.below(EDGE), draw.below(EDGE)
        first, second = draw.pick(distances), draw.pick(distances)
        lengths = (before, first - 1, second - 1, after)
        runs = [[draw.pick(FILLERS) for _ in range(length)] for length in lengths]
        frame = " ".join((*runs[0], "{}", *runs[1], "{}", *runs[2], "{}", *runs[3]))
        # By its bag of words, so that no test document is a training one reordered.
        frames.setdefault(tuple(sorted(word for run in runs for word in run)), frame)
    return list(frames.values())


LETTERS = "abcdefghijklmnop"
MONTHS = (
    "January February March April May June July August September October November December"
).split()
FIRST_DAY, DAYS = datetime.date(1900, 1, 1).toordinal(), 73_000  # some two centuries


def _letters(name: str, answer: Callable[[list[str]], Iterable[str]]) -> Callable[..., Pairs]:
    """What makes pairs of letters and the answer to them."""

    def load(
        *, seed: int = 0, train: int = 4000, test: int = 400, shortest: int = 3, longest: int = 10
    ) -> Pairs:
        """The pairs of that seed, of so many letters; ZooError for impossible values."""
        need(name, shortest=(shortest, 1), longest=(longest, shortest))

        def draw_pair(draw: Draw) -> tuple[str, str]:
            length = shortest + draw.below(longest - shortest + 1)
            words = [draw.pick(LETTERS) for _ in range(length)]
            return " ".join(words), " ".join(answer(words))

        # At most a tenth of all texts, or drawing until enough differ would take too long.
        most = sum(len(LETTERS) ** n for n in range(shortest, longest + 1)) // 10
        return _drawn_pairs(name, draw_pair, most, seed, train, test)

    return load


reverse = _letters("reverse", reversed)
copy = _letters("copy", list)
sort = _letters("sort", sorted)


def dates(*, seed: int = 0, train: int = 4000, test: int = 400) -> Pairs:
    """Days as they are written in English, and as ISO 8601 writes them."""

    def draw_pair(draw: Draw) -> tuple[str, str]:
        day = datetime.date.fromordinal(FIRST_DAY + draw.below(DAYS))
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}", day.isoformat()

    return _drawn_pairs("dates", draw_pair, DAYS, seed, train, test)


def _drawn_pairs(
    name: str, draw_pair: Callable[[Draw], tuple[str, str]], most: int, *sizes: int
) -> Pairs:
    """Pairs of different sources, so that no source is in both splits. sizes: seed, train, test."""
    seed, train, test = sizes
    need(name, train=(train, 1), test=(test, 1))
    if train + test > most:
        raise ZooError(f"{name} has at most {most} pairs in all, not {train + test}")
    draw, different = Draw(seed), dict[str, str]()
    while len(different) < train + test:
        source, target = draw_pair(draw)
        different[source] = target
    splits = divided([*different], [*different.values()], train, test)
    return Pairs(name, splits, notes={"source": "built-in task", "split": "as written"})
