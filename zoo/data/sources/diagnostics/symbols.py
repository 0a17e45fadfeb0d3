"""Texts of a few symbols, each with the answer to one question of counting or of order.

Unless said otherwise they are from Delétang et al. 2023, "Neural Networks and the Chomsky
Hierarchy", appendix A.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial

from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_corpus

BITS = ("zero", "one")
DIGITS = ["zero", "one", "two", "three", "four"]
MOVES = {"stay": 0, "next": 1, "back": -1}
OPERATIONS = ("plus", "minus", "times")
EVEN_OR_ODD = ["even", "odd"]


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
