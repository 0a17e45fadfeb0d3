"""Files read with the options of the command line, by their names."""

from pathlib import Path
from typing import Any

from zoo.config.request import validated
from zoo.data.sources.corpus import IGNORED, Corpus, Examples, TaggedCorpus
from zoo.data.sources.row_reader import LabelledTexts, RawData, TaggedTexts
from zoo.tasks.classify import Classify, ClassifyOptions
from zoo.tasks.tag import Tag, TagOptions

# "unbelievable" is rare, so that a small vocabulary has it in pieces.
TAGGED = TaggedCorpus(
    "tiny",
    {
        "train": Examples(
            [["Anna", "sees", "Rome"], ["Ben", "runs"], ["sees", "unbelievable", "Rome"]],
            [[1, 0, 2], [1, 0], [0, IGNORED, 2]],
        ),
        "test": Examples([["Anna", "runs"], ["Rome", "sees", "Ben"]], [[1, 0], [2, 0, 1]]),
    },
    ["O", "PER", "LOC"],
)


def reader(**options: Any) -> LabelledTexts:
    return Classify().reader(validated(ClassifyOptions, options))


def tag_reader(**options: Any) -> TaggedTexts:
    return Tag().reader(validated(TagOptions, options))


def read(path: Path, **options: Any) -> tuple[Corpus, list[str]]:
    """A corpus and its notices."""
    chosen = reader(**options)
    return chosen.data_set(RawData("mine", chosen.tables(path)))


def read_tagged(path: Path, **options: Any) -> tuple[TaggedCorpus, list[str]]:
    chosen = tag_reader(**options)
    return chosen.data_set(RawData("mine", chosen.tables(path)))


def rows_of(path: Path, *, tagged: bool = False, **options: Any) -> list[tuple[Any, Any]]:
    """Every text with its label, in the order of the file."""
    chosen = tag_reader(**options) if tagged else reader(**options)
    examples, _ = chosen.examples(chosen.tables(path))
    return list(zip(examples.texts, examples.targets, strict=True))


def rows(count: int = 8) -> str:
    return "text,label\n" + "".join(f"text {i},{'ab'[i % 2]}\n" for i in range(count))
