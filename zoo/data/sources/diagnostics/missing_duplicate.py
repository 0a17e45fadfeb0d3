"""Missing duplicate: a text of two equal halves in which a symbol is hidden; which one is it?

The symbol at the same place of the other half is the answer. Source: Delétang et al. 2023, "Neural
Networks and the Chomsky Hierarchy", appendix A. One thing differs: there the hidden symbol is the
only one that is missing. Counts alone then decide the class, because every symbol occurs an even
number of times in two equal halves. Here ``lost`` stands, in the same half, for a symbol unlike the
hidden one. Two texts with these two symbols exchanged have the same words as often, in each half
too, and different classes: every classifier by counts is right for one of the two.
"""

from __future__ import annotations

from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_loader

SYMBOLS = ("zero", "one")
HIDDEN, LOST = "hidden", "lost"
LABEL_NAMES = ["one", "zero"]


def _draw_text(draw: Draw, length: int) -> Words:
    half = [draw.pick(SYMBOLS) for _ in range(length // 2)]
    hidden, lost = draw.sample(range(len(half)), 2)
    half[hidden], half[lost] = draw.shuffled(SYMBOLS)
    words, start = [*half, *half], draw.pick((0, len(half)))
    words[start + hidden], words[start + lost] = HIDDEN, LOST
    return words


def _label(words: Words) -> str:
    half = len(words) // 2
    return words[(words.index(HIDDEN) + half) % len(words)]


load = labelled_loader("missing-duplicate", _draw_text, _label, LABEL_NAMES, shortest=4, step=2)
