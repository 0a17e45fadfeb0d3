"""Modular arithmetic: the value modulo five of a sum, with products and without brackets.

"two plus three times four" is 14, which is four modulo five. Source: Delétang et al. 2023, "Neural
Networks and the Chomsky Hierarchy", appendix A (modular arithmetic, simple).
"""

from __future__ import annotations

from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_loader

NUMBERS = ["zero", "one", "two", "three", "four"]
OPERATIONS = ("plus", "minus", "times")


def _draw_text(draw: Draw, length: int) -> Words:
    return [draw.pick(OPERATIONS if place % 2 else NUMBERS) for place in range(length)]


def _label(words: Words) -> str:
    total, product = 0, NUMBERS.index(words[0])
    for operation, number in zip(words[1::2], words[2::2], strict=True):
        value = NUMBERS.index(number)
        if operation == "times":
            product *= value
        else:
            total, product = total + product, value if operation == "plus" else -value
    return NUMBERS[(total + product) % len(NUMBERS)]


load = labelled_loader("modular", _draw_text, _label, NUMBERS, shortest=3, step=2)
