"""What tasks on labelled texts have in common: an encoder that reads texts, and their splits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, NonNegativeInt

from zoo.config.settings import Fraction
from zoo.config.sizes import Sizes
from zoo.data.sources.load_corpus import portable_spec
from zoo.errors import ZooError
from zoo.registry import Registry
from zoo.tasks.base import Loaded, Task, TaskOptions, TaskSetup

if TYPE_CHECKING:
    import torch
    from torch import nn

    from zoo.data.sources.row_reader import RowReader

EVALUATION_BATCH = 128
LATENCY_TEXTS = 10

Rows = tuple[np.ndarray, np.ndarray]  # of the training split: to train on, and to score


class EncoderOptions(TaskOptions):
    """Options of every task on labelled texts."""

    data_fields: ClassVar[tuple[str, ...]] = ("group_column", "keep_duplicates")

    group_column: str = Field(
        default="",
        description="Column of the texts' groups (language, year), in files and Hub data, by which "
        "scores are reported too; by default there are none.",
    )
    keep_duplicates: bool = Field(
        default=False, description="Train also on documents that are in the test split."
    )
    head_hidden: NonNegativeInt = Field(
        default=0, description="Width of the head's hidden layer; 0: none."
    )
    token_dropout: Fraction = Field(
        default=0.0, description="Share of tokens replaced by the unknown token in training."
    )


class EncoderTask(Task):
    """A task whose model gives an answer for every text, or every token of it."""

    needs: ClassVar = {"attention": frozenset({"padding"})}
    commands = ("predict", "evaluate", "attend", "export")

    @abstractmethod
    def read(self, spec: str | None, options: Any, registry: Registry) -> tuple[Any, list[str]]:
        """The labelled texts of a spec, before encoding, and notices for the user.

        They have ``name``, ``splits()``, ``duplicates``, ``without_duplicates()``,
        ``fingerprint``, ``label_names``, ``notes`` and ``chance``.
        """

    @abstractmethod
    def reader(self, options: Any) -> RowReader[Any, Any]:
        """What reads the task's files."""

    @abstractmethod
    def encode(self, corpus: Any, sizes: Sizes) -> Any:
        """The encoded data of what ``read`` gave."""

    @abstractmethod
    def split(self, setup: TaskSetup, name: str, device: torch.device) -> Any:
        """``train`` or ``test`` on the device."""

    @abstractmethod
    def validation_rows(self, setup: TaskSetup) -> Rows:
        """Rows of the training split to train on, and rows to hold out."""

    def load(self, spec: str | None, options: Any, sizes: Sizes, registry: Registry) -> Loaded:
        corpus, notices = self.read(spec, options, registry)
        duplicates = corpus.duplicates
        (_, *train), (_, *test) = corpus.splits()
        if duplicates:
            action = "kept" if options.keep_duplicates else "dropped from training"
            notices = [
                *notices,
                f"{duplicates} of {len(test[0])} test documents are also in the training split: "
                f"{action}",
            ]
            if not options.keep_duplicates:
                corpus = corpus.without_duplicates()
                (_, *train), _ = corpus.splits()
        encoded = self.encode(corpus, sizes)
        description = {
            "name": corpus.name,
            "fingerprint": corpus.fingerprint,
            "train": len(train[0]),
            "test": len(test[0]),
            "labels": corpus.label_names,
            "duplicates": duplicates,
            "vocab_size": encoded.vocab_size,
            "notes": corpus.notes,
        }
        if corpus.chance is not None:
            description["chance"] = corpus.chance
        return Loaded(encoded, description, portable_spec(registry, corpus.name), notices)

    def training_split(self, setup: TaskSetup, device: torch.device) -> Any:
        return self.split(setup, "train", device)

    def splits(self, setup: TaskSetup, device: torch.device) -> tuple[Any, Any]:
        train = self.training_split(setup, device)
        if not setup.training.validation:
            return train, self.split(setup, "test", device)
        rows, held_out = self.validation_rows(setup)
        return train.subset(rows), train.subset(held_out)

    def scored_rows(self, setup: TaskSetup) -> Rows | None:
        """What ``validation_rows`` gives; None where the test split is scored."""
        return self.validation_rows(setup) if setup.training.validation else None

    def scored_groups(self, setup: TaskSetup) -> list[str]:
        """The group of every scored text; empty where there are none, as in validation."""
        if setup.data is None or setup.training.validation:
            return []
        groups: list[str] = setup.data.test_groups()
        return groups

    def forward(self, model: nn.Module, batch: Any) -> object:
        return model(batch.ids, batch.tokens)


def by_group(groups: Sequence[str]) -> Mapping[str, np.ndarray]:
    """The rows of each group, in the order in which groups first appear."""
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return {group: np.array(its_rows) for group, its_rows in rows.items()}


def apart(fit: np.ndarray, held_out: np.ndarray, texts: Sequence[str], share: float) -> Rows:
    """The rows in order, without rows to train on whose text is also held out, word for word.

    Raises ZooError where none is left to train on.
    """
    from zoo.data.sources.corpus import plain_words

    known = {plain_words(texts[row]) for row in held_out}
    fit = np.array([row for row in fit if plain_words(texts[row]) not in known], dtype=int)
    if not len(fit):
        raise ZooError(f"--validation {share}: every other document is also held out")
    return np.sort(fit), np.sort(held_out)
