"""Parity: whether the number of ones in a text of zeros and ones is even.

The number of ones decides the class, whatever their order: the task tests counting modulo two. A
control: small transformers are expected at chance (Hahn 2020, "Theoretical Limitations of
Self-Attention in Neural Sequence Models"). Source of the task: Delétang et al. 2023, "Neural
Networks and the Chomsky Hierarchy", appendix A.
"""

from __future__ import annotations

from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_loader

SYMBOLS = ("zero", "one")
LABEL_NAMES = ["even", "odd"]


def _draw_text(draw: Draw, length: int) -> Words:
    return [draw.pick(SYMBOLS) for _ in range(length)]


def _label(words: Words) -> str:
    return LABEL_NAMES[words.count("one") % 2]


load = labelled_loader("parity", _draw_text, _label, LABEL_NAMES, shortest=2)
