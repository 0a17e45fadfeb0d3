"""ListOps: the value of nested operations on digits, such as "[max two [min seven nine ] ]".

The operations are the largest, the smallest and the median digit (rounded down), and the sum modulo
ten, each of two to five values. Source: Nangia and Bowman 2018, "ListOps: A Diagnostic Dataset for
Latent Tree Learning"; in Tay et al. 2021 ("Long Range Arena") texts have 500 to 2,000 tokens, here
far fewer.

Chance is 0.10, and with the default sizes two ways to guess are above it: gradient boosting on how
often each word occurs scores about 0.25, on the first two and the last two words before the end
0.28. Only scores above these show that a model follows the brackets.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_corpus
from zoo.errors import ZooError

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
END = "]"
OPERATIONS: Mapping[str, Callable[[list[int]], int]] = {
    "[max": max,
    "[min": min,
    "[med": lambda values: int(statistics.median(values)),
    "[sm": lambda values: sum(values) % len(DIGITS),
}
MOST_VALUES = 5  # of one operation


def listops(*, depth: int = 4, length: int = 60, **sizes: Any) -> Corpus:
    """A corpus; seed and other sizes are as of ``labelled_corpus``. depth: of nested operations.

    Raises ZooError for impossible sizes.
    """
    if depth < 1:
        raise ZooError(f"listops needs depth >= 1, not {depth}")
    draw_text = functools.partial(_draw_text, depth=depth)
    return labelled_corpus("listops", draw_text, _label, DIGITS, shortest=4, length=length, **sizes)


def _draw_text(draw: Draw, length: int, depth: int) -> Words:
    """An operation of about that many words, and at most that many."""
    if depth == 0 or length < 4:
        return [draw.pick(DIGITS)]
    room = length - 2
    values = 2 + draw.below(min(room, MOST_VALUES) - 1)
    cuts = sorted(draw.sample(range(1, room), values - 1))
    shares = [end - start for start, end in zip([0, *cuts], [*cuts, room], strict=True)]
    words = [word for share in shares for word in _draw_text(draw, share, depth - 1)]
    return [draw.pick(tuple(OPERATIONS)), *words, END]


def _label(words: Words) -> str:
    open_operations: list[tuple[str, list[int]]] = [("", [])]
    for word in words:
        if word in OPERATIONS:
            open_operations.append((word, []))
        elif word == END:
            operation, values = open_operations.pop()
            open_operations[-1][1].append(OPERATIONS[operation](values))
        else:
            open_operations[-1][1].append(DIGITS.index(word))
    return DIGITS[open_operations[0][1][0]]
