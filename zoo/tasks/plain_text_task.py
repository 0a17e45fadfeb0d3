"""What tasks on plain texts have in common, whatever labels these have."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from pydantic import Field

from zoo.config.reading import Reading, part_of
from zoo.config.sizes import Sizes
from zoo.data.sources.splits import ScoringNotice
from zoo.registry import Registry
from zoo.tasks.base import Evaluation, Loaded, Task, TaskOptions, loaded

if TYPE_CHECKING:
    from zoo.data.sources.corpus import Texts
    from zoo.data.sources.labelled_texts import LabelledTexts
    from zoo.data.token_arrays import EncodedData

DEFAULT_DATA = "newswire"
SAMPLE_SCORES = 32  # of the vocabulary, in sample_scores


class PlainTextOptions(TaskOptions, Reading):
    """Options of every task on plain texts."""

    data_fields = ("text_column", "label_column", "keep_duplicates", *Reading.model_fields)

    text_column: str = Field(
        default="text",
        description="Column of the texts; in files and Hub data. Of several, as in title,body, the "
        "texts are joined.",
    )
    label_column: str = Field(
        default="label", description="Column of the labels; in files and Hub data."
    )
    keep_duplicates: bool = Field(
        default=False, description="Train also on texts that are held out."
    )

    def reader(self) -> LabelledTexts:
        """What reads the rows of tables."""
        from zoo.data.sources.labelled_texts import LabelledTexts

        return LabelledTexts(self.text_column, self.label_column, reading=part_of(Reading, self))


class PlainTextTask(Task):
    """A language model of some form; part of the texts is held out and scored."""

    options = PlainTextOptions
    reads = ("text", "text-labels")
    scored_split = "validation"

    @abstractmethod
    def encode(self, texts: Texts, sizes: Sizes) -> EncodedData:
        """The encoded texts, with the splits ``train`` and ``validation``."""

    @abstractmethod
    def describe(self, texts: Texts, encoded: EncodedData, options: Any) -> dict[str, Any]:
        """Of the description: ``train`` and ``test``, tokens of each split, and ``summary``."""

    def load(self, spec: str | None, options: Any, sizes: Sizes, registry: Registry) -> Loaded:
        from zoo.data.sources.load_data import load_texts

        texts, notices = load_texts(
            registry,
            spec or DEFAULT_DATA,
            options.reader(),
            keep_duplicates=options.keep_duplicates,
        )
        encoded = self.encode(texts, sizes)
        if texts.duplicates:
            action = "kept" if options.keep_duplicates else "dropped from training"
            both = f"{texts.duplicates} held-out texts are also in the training split"
            notices = [*notices, ScoringNotice(f"{both}: {action}")]
        about = self.describe(texts, encoded, options)
        return loaded(texts, encoded, registry, notices, duplicates=texts.duplicates, **about)


def language_evaluation(nats: float, tokens: int, size: int) -> Evaluation:
    """The outputs of a model that gave ``tokens`` tokens, of ``size`` bytes, so many nats."""
    outputs = {"nats": nats, "tokens": tokens, "bytes": size}
    perplexity = math.exp(min(nats / tokens, 700.0))
    details = {"examples": tokens, "perplexity": perplexity, "tokens": tokens, "bytes": size}
    return Evaluation(outputs, details)
