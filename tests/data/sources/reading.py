"""Files read with the options of the command line, by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zoo.config.request import validated
from zoo.data.sources.corpus import IGNORED, Corpus, TaggedCorpus
from zoo.data.sources.labelled_texts import LabelledTexts
from zoo.tasks.classify import Classify, ClassifyOptions

# "unbelievable" is rare, so that a small vocabulary has it in pieces.
TAGGED = TaggedCorpus(
    "tiny",
    [["Anna", "sees", "Rome"], ["Ben", "runs"], ["sees", "unbelievable", "Rome"]],
    [[1, 0, 2], [1, 0], [0, IGNORED, 2]],
    [["Anna", "runs"], ["Rome", "sees", "Ben"]],
    [[1, 0], [2, 0, 1]],
    ["O", "PER", "LOC"],
)


def reader(**options: Any) -> LabelledTexts:
    return Classify().reader(validated(ClassifyOptions, options))


def read(path: Path, **options: Any) -> tuple[Corpus, list[str]]:
    """A corpus and its notices."""
    return reader(**options).read(path, name="mine")


def texts_of(path: Path, **options: Any) -> list[tuple[str, str]]:
    """Every text with the name of its label, in the order of the file."""
    return [(row.text, row.label) for row in reader(**options).read_undivided(path, [])]


def rows(count: int = 8) -> str:
    return "text,label\n" + "".join(f"text {i},{'ab'[i % 2]}\n" for i in range(count))
