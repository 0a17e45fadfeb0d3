"""Majority: the more frequent one of two symbols.

A control: order does not matter, and a bag of words solves it. Texts have odd lengths, so that
there are no ties. Source: Merrill et al. 2022, "Saturated Transformers are Constant-Depth
Threshold Circuits"; compare the regular languages of Delétang et al. 2023.
"""

from __future__ import annotations

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.diagnostics.drawing import Draw, Words, labelled_corpus

SYMBOLS = ("zero", "one")
LABEL_NAMES = ["one", "zero"]


def load(
    *, seed: int = 0, train: int = 6000, test: int = 1200, length: int = 40, test_length: int = 0
) -> Corpus:
    """The corpus of that seed; sizes are as ``drawing`` says. ZooError for impossible ones."""
    return labelled_corpus(
        "majority",
        _draw_text,
        _label,
        LABEL_NAMES,
        seed=seed,
        train=train,
        test=test,
        length=length,
        test_length=test_length,
        shortest=3,
        step=2,
    )


def _draw_text(draw: Draw, length: int) -> Words:
    return [draw.pick(SYMBOLS) for _ in range(length)]


def _label(words: Words) -> str:
    return "one" if 2 * words.count("one") > len(words) else "zero"
