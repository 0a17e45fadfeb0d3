"""Majority: the more frequent one of two symbols.

A control: order does not matter, and a bag of words solves it. Texts have odd lengths, so that
there are no ties. Source: Merrill et al. 2022, "Saturated Transformers are Constant-Depth
Threshold Circuits"; compare the regular languages of Delétang et al. 2023.
"""

from __future__ import annotations

from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_loader

SYMBOLS = ("zero", "one")
LABEL_NAMES = ["one", "zero"]


def _draw_text(draw: Draw, length: int) -> Words:
    return [draw.pick(SYMBOLS) for _ in range(length)]


def _label(words: Words) -> str:
    return "one" if 2 * words.count("one") > len(words) else "zero"


load = labelled_loader("majority", _draw_text, _label, LABEL_NAMES, shortest=3, step=2)
