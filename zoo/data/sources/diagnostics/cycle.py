"""Cycle navigation: the position on a cycle of five after a list of moves.

It begins at zero, and each move stays, goes to the next position or back to the one before. The
numbers of the moves decide the class, whatever their order: the task tests counting modulo five.
Gradient boosting on these numbers scores about 0.95. Source: Delétang et al. 2023, "Neural Networks
and the Chomsky Hierarchy", appendix A.
"""

from __future__ import annotations

from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_loader

MOVES = {"stay": 0, "next": 1, "back": -1}
LABEL_NAMES = ["zero", "one", "two", "three", "four"]


def _draw_text(draw: Draw, length: int) -> Words:
    return [draw.pick(tuple(MOVES)) for _ in range(length)]


def _label(words: Words) -> str:
    return LABEL_NAMES[sum(MOVES[word] for word in words) % len(LABEL_NAMES)]


load = labelled_loader("cycle", _draw_text, _label, LABEL_NAMES, shortest=2)
