"""Even pairs: whether the number of unequal neighbours in a text of two symbols is even.

It is even exactly where the first symbol equals the last, so that a model must tell these two
places from all others. Source: Delétang et al. 2023, "Neural Networks and the Chomsky Hierarchy",
appendix A.
"""

from __future__ import annotations

import itertools

from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_loader

SYMBOLS = ("zero", "one")
LABEL_NAMES = ["even", "odd"]


def _draw_text(draw: Draw, length: int) -> Words:
    return [draw.pick(SYMBOLS) for _ in range(length)]


def _label(words: Words) -> str:
    unequal = sum(one != other for one, other in itertools.pairwise(words))
    return LABEL_NAMES[unequal % 2]


load = labelled_loader("even-pairs", _draw_text, _label, LABEL_NAMES, shortest=2)
