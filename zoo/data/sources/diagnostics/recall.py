"""Tasks on tokens: what stands earlier is asked for, or counted; other tokens have no tag.

Sizes are as ``pool`` says. ``built_in.toml`` names the sources, whose texts are longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from zoo.data.sources.corpus import IGNORED, TaggedCorpus
from zoo.data.sources.diagnostics.drawing import need
from zoo.data.sources.diagnostics.pool import (
    Draws,
    DrawTexts,
    Ints,
    drawn,
    most_frequent_label,
    of_own_word,
)
from zoo.errors import ZooError

KEYS, NOISE = 16, 8
FUSED, UNORDERED = "fused+rope", "fused+none"
WINDOW, HYBRID = "window(size=4)+rope", "window(size=4)/fused+rope"
EVEN_OR_ODD = ("even", "odd")
MOVES = {"stay": 0, "next": 1, "back": -1}
DIGITS = ("zero", "one", "two", "three", "four")
WRITES = 0.2  # of the tokens of flip-flop, and as many read
tagged = partial(drawn, TaggedCorpus)


def recall(
    *, train: int = 15_000, pairs: int = 16, values: int = 8, test_length: int = 0, **sizes: Any
) -> TaggedCorpus:
    """Stacked associative recall: every token holds a key and its value, then keys are queried.

    "k3=v1 k0=v5 k0? k3?" has the tags v5 and v1 on its queries. With key and value in one token
    ("stacked") a single layer can find them; in the source, where they are two, texts have 64 to
    512 tokens. pairs: keys of a training text, which has twice as many tokens. values: different
    values of a key. test_length: more tokens have more keys, and training texts then have ``pairs``
    of these. Raises ZooError for impossible sizes.
    """
    need("recall", pairs=(pairs, 1), values=(values, 2))
    keys = max(pairs, test_length // 2)

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        held = draws.orders(number, keys)[:, : length // 2]
        asked, value = draws.orders(*held.shape), draws.below(values, *held.shape)
        queries = keys * values + np.take_along_axis(held, asked, 1)
        answers = np.take_along_axis(value, asked, 1)
        return _joined(held * values + value, queries), _joined(_untagged(held), answers)

    names = _names("v", values)
    words = [f"k{key}={value}" for key in range(keys) for value in names]
    words += [f"k{key}?" for key in range(keys)]
    sizes |= {"shortest": 2 * pairs, "length": 2 * pairs, "step": 2, "test_length": test_length}
    sizes |= {"train": train, "floor": most_frequent_label, "controls": (FUSED, WINDOW)}
    return tagged("recall", texts, words, names, **sizes)


def noisy_recall(
    *, train: int = 20_000, pairs: int = 4, values: int = 8, length: int = 32, **sizes: Any
) -> TaggedCorpus:
    """Noisy recall: keys, each followed by its value, among noise; then every key is queried.

    "n4 k3 v1 n0 k0 v5 k0? k3?" has the tags v5 and v1 on its queries. The source has 16 noise
    tokens, this 8. pairs: keys of a text, of 16. values: different values of a key. Longer texts
    have more noise. Raises ZooError for impossible sizes.
    """
    need("noisy-recall", pairs=(pairs, 1), values=(values, 2))
    if pairs > KEYS:
        raise ZooError(f"noisy-recall needs pairs <= {KEYS}, not {pairs}")

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        noise = draws.below(NOISE, number, length - pairs)
        held, value = draws.orders(number, KEYS)[:, :pairs], draws.below(values, number, pairs)
        # Of the pieces, pairs and noise, some are pairs; each pair before one moves it by a token.
        pieces = draws.orders(number, length - 2 * pairs)[:, :pairs]
        places = np.sort(pieces, axis=1) + np.arange(pairs)
        np.put_along_axis(noise, places, NOISE + held, 1)
        np.put_along_axis(noise, places + 1, NOISE + KEYS + value, 1)
        asked = draws.orders(number, pairs)
        queries = NOISE + KEYS + values + np.take_along_axis(held, asked, 1)
        answers = np.take_along_axis(value, asked, 1)
        return _joined(noise, queries), _joined(_untagged(noise), answers)

    names = _names("v", values)
    words = [*_names("n", NOISE), *_names("k", KEYS), *names, *(f"k{n}?" for n in range(KEYS))]
    sizes |= {"shortest": 3 * pairs, "length": length, "train": train}
    sizes |= {"floor": most_frequent_label, "controls": (HYBRID, UNORDERED)}
    return tagged("noisy-recall", texts, words, names, **sizes)


def selective_copy(
    *, train: int = 36_000, items: int = 4, symbols: int = 8, length: int = 16, **sizes: Any
) -> TaggedCorpus:
    """Selective copying: symbols scattered among blanks are to be written again, in their order.

    "blank s3 blank s1 copy copy" has the tags s3 and s1 on its last two tokens. The source copies
    16 symbols. items: symbols of a text to copy. symbols: different ones. Longer texts have more
    blanks. Raises ZooError for impossible sizes.
    """
    need("selective-copy", items=(items, 1), symbols=(symbols, 2))

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        tokens = np.full((number, length - items), symbols)
        copied = draws.below(symbols, number, items)
        places = np.sort(draws.orders(*tokens.shape)[:, :items], axis=1)
        np.put_along_axis(tokens, places, copied, 1)
        copies = np.full_like(copied, symbols + 1)
        return _joined(tokens, copies), _joined(_untagged(tokens), copied)

    sizes |= {"shortest": 2 * items, "length": length, "train": train}
    return _copied("selective-copy", texts, symbols, sizes)


def copying(
    *, train: int = 10_000, items: int = 16, symbols: int = 8, test_length: int = 0, **sizes: Any
) -> TaggedCorpus:
    """Copying: symbols, all of which are to be written again in their order.

    "s3 s1 copy copy" has the tags s3 and s1 on its last two tokens. items: symbols of a training
    text, which has twice as many tokens. symbols: different ones. test_length: more tokens have
    more of them. Raises ZooError for impossible sizes.
    """
    need("copying", items=(items, 1), symbols=(symbols, 2))

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        copied = draws.below(symbols, number, length // 2)
        copies = np.full_like(copied, symbols + 1)
        return _joined(copied, copies), _joined(_untagged(copied), copied)

    sizes |= {"shortest": 2 * items, "length": 2 * items, "step": 2, "test_length": test_length}
    sizes["train"] = train
    return _copied("copying", texts, symbols, sizes)


def flip_flop(*, train: int = 18_000, length: int = 32, **sizes: Any) -> TaggedCorpus:
    """Flip-flop: each ``read`` asks for the bit that was written last; other bits do not count.

    "write-1 other-0 read write-0 read" has the tags one and zero on its reads. A fifth of the
    tokens write and a fifth read; the first writes and the last reads. In the source an
    instruction and its bit are two tokens. Raises ZooError for impossible sizes.
    """

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        kind, bit = draws.random((number, length)), draws.below(2, number, length)
        kind[:, 0], kind[:, -1] = 0, 1
        writes, reads = kind < WRITES, kind >= 1 - WRITES
        last = np.maximum.accumulate(np.where(writes, np.arange(length), 0), axis=1)
        answers = np.where(reads, np.take_along_axis(bit, last, 1), IGNORED)
        return np.where(reads, 4, np.where(writes, bit, 2 + bit)), answers

    def most_written(words: Ints, labels: Ints) -> float:
        """The score of answering with the bit that a text writes more often."""
        written = np.stack([(words == bit).sum(axis=1) for bit in (0, 1)])
        reads = (labels != IGNORED).sum(axis=1)
        return float((written.max(axis=0) / written.sum(axis=0) * reads).sum() / reads.sum())

    words = ("write-0", "write-1", "other-0", "other-1", "read")
    sizes |= {"shortest": length, "length": length, "train": train}
    sizes |= {"floor": most_written, "controls": (FUSED, UNORDERED)}
    return tagged("flip-flop", texts, words, DIGITS[:2], **sizes)


def majority(*, train: int = 12_000, length: int = 31, **sizes: Any) -> TaggedCorpus:
    """Majority: each token asks which of two symbols is the more frequent one in the whole text.

    Lengths are odd, so that there are no ties. Whatever adds up the whole text can answer it; what
    sees a part of it is often wrong. Raises ZooError for impossible sizes.
    """

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        bits = draws.below(2, number, length)
        more = (2 * bits.sum(axis=1, keepdims=True) > length).astype(np.int64)
        return bits, np.broadcast_to(more, bits.shape)

    sizes |= {"shortest": 3, "step": 2, "length": length, "train": train}
    sizes |= {"floor": always_the_same, "controls": (FUSED, WINDOW)}
    return tagged("majority", texts, DIGITS[:2], DIGITS[:2], **sizes)


def parity(*, train: int = 15_000, length: int = 16, **sizes: Any) -> TaggedCorpus:
    """Parity: whether the number of ones up to each token is even: counting modulo two.

    Raises ZooError for impossible sizes.
    """

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        bits = draws.below(2, number, length)
        return bits, bits.cumsum(axis=1) % 2

    sizes |= {"shortest": length, "length": length, "train": train}
    return _followed("parity", texts, DIGITS[:2], EVEN_OR_ODD, sizes)


def cycle(*, train: int = 24_000, length: int = 24, **sizes: Any) -> TaggedCorpus:
    """Cycle: the position on a cycle of five, from zero, after each of the moves up to a token.

    Raises ZooError for impossible sizes.
    """

    def texts(draws: Draws, number: int, length: int) -> tuple[Ints, Ints]:
        words = draws.below(len(MOVES), number, length)
        return words, np.array([*MOVES.values()])[words].cumsum(axis=1) % len(DIGITS)

    sizes |= {"shortest": length, "length": length, "train": train}
    return _followed("cycle", texts, tuple(MOVES), DIGITS, sizes)


def always_the_same(words: Ints, labels: Ints) -> float:
    """The score of the most frequent label of all."""
    counts = np.bincount(labels[labels != IGNORED])
    return float(counts.max() / counts.sum())


def _names(letter: str, number: int) -> list[str]:
    return [f"{letter}{each}" for each in range(number)]


def _joined(first: Ints, last: Ints) -> Ints:
    return np.concatenate([first, last], axis=1)


def _untagged(words: Ints) -> Ints:
    return np.full_like(words, IGNORED)


def _copied(name: str, texts: DrawTexts, symbols: int, sizes: dict[str, Any]) -> TaggedCorpus:
    """Texts of symbols, ``blank`` where there are some, and ``copy``."""
    names = _names("s", symbols)
    sizes |= {"floor": most_frequent_label, "controls": (FUSED, UNORDERED)}
    return tagged(name, texts, [*names, "blank", "copy"], names, **sizes)


def _followed(
    name: str,
    texts: DrawTexts,
    words: Sequence[str],
    label_names: Sequence[str],
    sizes: dict[str, Any],
) -> TaggedCorpus:
    """Texts in which each token changes a state, which is its label."""
    sizes |= {"floor": of_own_word, "controls": ("gru+none", UNORDERED)}
    return tagged(name, texts, words, label_names, **sizes)
