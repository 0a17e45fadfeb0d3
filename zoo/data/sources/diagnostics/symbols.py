"""Texts of a few symbols, each with the answer to one question of counting or of order.

Unless said otherwise they are from Delétang et al. 2023, "Neural Networks and the Chomsky
Hierarchy", appendix A.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_corpus
from zoo.errors import ZooError

BITS = ("zero", "one")
TEN_DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
DIGITS = TEN_DIGITS[:5]
MOVES = {"stay": 0, "next": 1, "back": -1}
OPERATIONS = ("plus", "minus", "times")
EVEN_OR_ODD = ["even", "odd"]
LIST_OPERATIONS: Mapping[str, Callable[[list[int]], int]] = {
    "[max": max,
    "[min": min,
    "[med": lambda values: int(statistics.median(values)),
    "[sm": lambda values: sum(values) % len(TEN_DIGITS),
}
LIST_END = "]"
MOST_VALUES = 5  # of one operation on a list


def _any_of(symbols: Sequence[str]) -> Callable[[Draw, int], Words]:
    """Draws texts of that many symbols, all equally likely."""
    return lambda draw, length: [draw.pick(symbols) for _ in range(length)]


def _unequal_neighbours(words: Words) -> str:
    """Whether their number is even: exactly where the first symbol equals the last.

    So a model must tell these two places from all others.
    """
    unequal = sum(one != other for one, other in itertools.pairwise(words))
    return EVEN_OR_ODD[unequal % 2]


def _ones(words: Words) -> str:
    """Whether the number of ones is even, whatever their order: counting modulo two.

    A control: small transformers are expected at chance (Hahn 2020, "Theoretical Limitations of
    Self-Attention in Neural Sequence Models").
    """
    return EVEN_OR_ODD[words.count("one") % 2]


def _more_frequent(words: Words) -> str:
    """The more frequent one of two symbols, in texts of odd lengths, so that there are no ties.

    A control that a bag of words solves. Source: Merrill et al. 2022, "Saturated Transformers are
    Constant-Depth Threshold Circuits".
    """
    return "one" if 2 * words.count("one") > len(words) else "zero"


def _position(words: Words) -> str:
    """The position on a cycle of five, from zero, after moves: counting modulo five.

    Gradient boosting on the numbers of the moves scores about 0.95.
    """
    return DIGITS[sum(MOVES[word] for word in words) % len(DIGITS)]


def _sum(draw: Draw, length: int) -> Words:
    return [draw.pick(OPERATIONS if place % 2 else DIGITS) for place in range(length)]


def _value(words: Words) -> str:
    """The value modulo five of sums and products: "two plus three times four" is four."""
    total, product = 0, DIGITS.index(words[0])
    for operation, number in zip(words[1::2], words[2::2], strict=True):
        value = DIGITS.index(number)
        if operation == "times":
            product *= value
        else:
            total, product = total + product, value if operation == "plus" else -value
    return DIGITS[(total + product) % len(DIGITS)]


def _equal_halves(draw: Draw, length: int) -> Words:
    half = [draw.pick(BITS) for _ in range(length // 2)]
    hidden, lost = draw.sample(range(len(half)), 2)
    half[hidden], half[lost] = draw.shuffled(BITS)
    words, start = [*half, *half], draw.pick((0, len(half)))
    words[start + hidden], words[start + lost] = "hidden", "lost"
    return words


def _hidden(words: Words) -> str:
    """The symbol that is hidden in one of two equal halves: it is at its place in the other.

    One thing differs from the source: there the hidden symbol is the only one that is missing.
    Counts alone then decide the class, because every symbol occurs an even number of times in two
    equal halves. Here ``lost`` stands, in the same half, for a symbol unlike the hidden one. Two
    texts with these two symbols exchanged have the same words as often, in each half too, and
    different classes: every classifier by counts is right for one of the two.
    """
    return words[(words.index("hidden") + len(words) // 2) % len(words)]


_two = partial(labelled_corpus, shortest=2)
even_pairs = partial(_two, "even-pairs", _any_of(BITS), _unequal_neighbours, EVEN_OR_ODD)
parity = partial(_two, "parity", _any_of(BITS), _ones, EVEN_OR_ODD)
cycle = partial(_two, "cycle", _any_of(tuple(MOVES)), _position, DIGITS)
_odd = partial(labelled_corpus, shortest=3, step=2)
majority = partial(_odd, "majority", _any_of(BITS), _more_frequent, ["one", "zero"])
modular = partial(_odd, "modular", _sum, _value, DIGITS)
missing_duplicate = partial(
    labelled_corpus,
    "missing-duplicate",
    _equal_halves,
    _hidden,
    ["one", "zero"],
    shortest=4,
    step=2,
)


def listops(*, depth: int = 4, length: int = 60, **sizes: Any) -> Corpus:
    """ListOps: the value of nested operations on digits: "[max two [min seven nine ] ]" is seven.

    The operations are the largest, the smallest and the median digit (rounded down), and the sum
    modulo ten, each of two to five values. Source: Nangia and Bowman 2018, "ListOps: A Diagnostic
    Dataset for Latent Tree Learning"; in Tay et al. 2021 ("Long Range Arena") texts have 500 to
    2,000 tokens, here far fewer. Chance is 0.10, and with the default sizes two ways to guess are
    above it: gradient boosting on how often each word occurs scores about 0.25, on the first two
    and the last two words before the end 0.28. Only scores above these show that a model follows
    the brackets.

    depth: of nested operations; seed and other sizes are as of ``labelled_corpus``. Raises ZooError
    for impossible sizes.
    """
    if depth < 1:
        raise ZooError(f"listops needs depth >= 1, not {depth}")
    draw_text = partial(_operation, depth=depth)
    return labelled_corpus(
        "listops", draw_text, _result, TEN_DIGITS, shortest=4, length=length, **sizes
    )


def _operation(draw: Draw, length: int, depth: int) -> Words:
    """An operation of about that many words, and at most that many."""
    if depth == 0 or length < 4:
        return [draw.pick(TEN_DIGITS)]
    room = length - 2
    values = 2 + draw.below(min(room, MOST_VALUES) - 1)
    cuts = sorted(draw.sample(range(1, room), values - 1))
    shares = [end - start for start, end in zip([0, *cuts], [*cuts, room], strict=True)]
    words = [word for share in shares for word in _operation(draw, share, depth - 1)]
    return [draw.pick(tuple(LIST_OPERATIONS)), *words, LIST_END]


def _result(words: Words) -> str:
    open_operations: list[tuple[str, list[int]]] = [("", [])]
    for word in words:
        if word in LIST_OPERATIONS:
            open_operations.append((word, []))
        elif word == LIST_END:
            operation, values = open_operations.pop()
            open_operations[-1][1].append(LIST_OPERATIONS[operation](values))
        else:
            open_operations[-1][1].append(TEN_DIGITS.index(word))
    return TEN_DIGITS[open_operations[0][1][0]]
