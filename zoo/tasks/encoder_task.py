"""What tasks on labelled texts have in common: an encoder that reads texts, and their splits."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, NonNegativeInt

from zoo.config.reading import Division, TextReading
from zoo.config.sizes import Sizes
from zoo.data.encoding import encode_labelled
from zoo.data.sources.corpus import plain_words, whole_text
from zoo.data.sources.load_data import load_data
from zoo.data.token_arrays import TokenArrays
from zoo.errors import ZooError
from zoo.registry import Choice, Registry
from zoo.tasks.base import (
    TEST,
    TRAIN,
    Estimator,
    Evaluation,
    Loaded,
    Rows,
    Task,
    TaskOptions,
    TaskSetup,
    deduplicated,
    loaded,
)

if TYPE_CHECKING:
    import torch
    from torch import nn

    from zoo.data.batches import PaddedSplit
    from zoo.training.device import Runtime

EVALUATION_BATCH = 128

Read = tuple[list[Any], list[Any]]  # texts, and their targets


class EncoderOptions(TaskOptions, TextReading, Division):
    """Options of every task on labelled texts."""

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


class EncoderTask(Task):
    """A task whose model gives an answer for every text, or every token of it.

    column: of the encoded data, with what is predicted. default_data: what is read where none are
    named.
    """

    column: ClassVar[str] = "labels"
    default_data: ClassVar[str] = ""
    needs: ClassVar = {"attention": frozenset({"padding"})}
    commands = ("predict", "evaluate", "attend", "export")

    def read(self, spec: str | None, options: Any, registry: Registry) -> tuple[Any, list[str]]:
        """The Corpus or TaggedCorpus of a spec, before encoding, and notices for the user."""
        return load_data(registry, spec or self.default_data, self.reader(options))

    @abstractmethod
    def with_remarks(self, data_set: Loaded, options: Any) -> Loaded:
        """Loaded data with what records and readers of tables should know of them."""

    @abstractmethod
    def texts_of_baseline(
        self, setup: TaskSetup, choice: Choice, split: str, texts: list[Any], targets: list[Any]
    ) -> Read:
        """What a baseline reads of a split's texts, with the targets of each."""

    @abstractmethod
    def score(self, setup: TaskSetup, predicted: Any, targets: Any) -> Evaluation:
        """The evaluation of predictions for the scored texts: a class each, or one a token."""

    def no_pretraining(self, options: Any) -> str | None:
        return None

    def texts_to_pretrain(self, setup: TaskSetup, *, all_data: bool = False) -> list[str]:
        """The training texts, on which an encoder is pretrained, without those that are scored.

        Case and spacing make no difference. all_data: nothing is scored, and the training texts are
        those of every split.
        """
        parts = {name: split.texts for name, split in setup.data.corpus().splits.items()}
        train = parts.pop(TRAIN)
        scored = [text for texts in parts.values() for text in texts]
        if all_data:
            train, scored = train + scored, []
        elif not self.scored_part(setup):
            fit, held_out = self.validation_rows(setup)
            scored += [train[row] for row in held_out]
            train = [train[row] for row in fit]
        known = {plain_words(whole_text(text)) for text in scored}
        return [text for text in map(whole_text, train) if plain_words(text) not in known]

    def load(self, spec: str | None, options: Any, sizes: Sizes, registry: Registry) -> Loaded:
        corpus, notices = self.read(spec, options, registry)
        corpus, duplicates = deduplicated(corpus, notices, keep=options.keep_duplicates)
        corpus = corpus.trained_first()
        encoded = encode_labelled(corpus, sizes.vocab_size, sizes.max_length)
        data_set = loaded(
            corpus,
            encoded,
            notices,
            **{name: len(split.texts) for name, split in corpus.splits.items()},
            labels=corpus.label_names,
            duplicates=duplicates,
            **({} if corpus.chance is None else {"chance": corpus.chance}),
            **({} if corpus.goal is None else {"solved_at": corpus.goal}),
            **corpus.controls,
        )
        return self.with_remarks(data_set, options)

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        if not self.is_estimator(choice):
            return None
        parts = {
            split: self.texts_of_baseline(setup, choice, split, texts, targets)
            for split, (texts, targets, _) in setup.data.corpus().splits.items()
        }
        train, scored = parts[TRAIN], self.scored_part(setup)
        texts, targets = parts.get(scored, train)
        if not scored:
            train, (texts, targets) = (
                ([train[0][row] for row in rows], [train[1][row] for row in rows])
                for rows in self.validation_rows(setup)
            )
        return Estimator(
            choice.build, train, lambda model: self.score(setup, model.predict(texts), targets)
        )

    def split(self, setup: TaskSetup, names: Sequence[str], device: torch.device) -> PaddedSplit:
        from zoo.data.batches import PaddedSplit

        return PaddedSplit(setup.data.split(*names), device, self.column)

    def full_length_split(
        self, setup: TaskSetup, examples: int, device: torch.device
    ) -> PaddedSplit:
        from zoo.data.batches import PaddedSplit

        draw, length = np.random.default_rng(0), setup.sizes.max_length
        ids = draw.integers(1, setup.vocab_size, (examples, length))
        number = examples if self.column == "labels" else ids.size
        targets = draw.integers(0, len(setup.labels), number)
        arrays = TokenArrays.of(ids.tolist(), **{self.column: targets})
        return PaddedSplit(arrays, device, self.column)

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: PaddedSplit, runtime: Runtime
    ) -> Evaluation:
        from zoo.tasks.passes import scored_passes

        predicted, targets = ([None] * len(split) for _ in range(2))
        for batch, logits in scored_passes(model, split, EVALUATION_BATCH, runtime, self.forward):
            likeliest, true = logits.argmax(dim=-1).cpu().numpy(), batch.targets.cpu().numpy()
            for row, answer, target in zip(batch.rows, likeliest, true, strict=True):
                predicted[row], targets[row] = answer, target
        return self.score(setup, predicted, targets)

    def validation_rows(self, setup: TaskSetup) -> Rows:
        train, share = setup.data.corpus().train, setup.training.validation
        classes = train.targets if self.column == "labels" else None
        rows = held_out_rows(len(train.texts), share, classes)
        texts = list(map(whole_text, train.texts))
        return rows if setup.options.keep_duplicates else without_copies(rows, texts, share)

    def scored_groups(self, setup: TaskSetup) -> list[str]:
        """The group of every scored text; empty where there are none, as in validation."""
        if setup.data is None or setup.training.validation:
            return []
        groups: list[str] = list(setup.data.split(TEST).columns.get("groups", np.empty(0)).tolist())
        return groups


def by_group(groups: Sequence[str]) -> Mapping[str, np.ndarray]:
    """The rows of each group, in the order in which groups first appear."""
    names = np.array(groups)
    return {group: np.flatnonzero(names == group) for group in dict.fromkeys(groups)}


def held_out_rows(number: int, share: float, classes: Sequence[int] | None = None) -> Rows:
    """Rows to train on and rows to hold out, in order: the same for every cell and seed.

    classes: of the rows; each class then has its share, of which there is a row a class at least.
    The only row of a class is trained on.
    """
    if classes is not None:
        from sklearn.model_selection import train_test_split

        rows, labels = np.arange(number), np.asarray(classes)
        _, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
        only = counts[places] == 1
        rest = labels[~only]
        if not len(rest):
            raise ZooError("--validation: no class has two training texts")
        fewest = len(np.unique(rest))
        size = min(max(math.ceil(share * len(rest)), fewest), len(rest) - fewest)
        parts = train_test_split(rows[~only], test_size=size, random_state=0, stratify=rest)
        parts = np.append(parts[0], rows[only]), parts[1]
    else:
        order, count = np.random.default_rng(0).permutation(number), max(1, round(share * number))
        parts = order[count:], order[:count]
    fit, held_out = map(np.sort, parts)
    return fit, held_out


def without_copies(rows: Rows, texts: Sequence[str], share: float) -> Rows:
    """The rows without those to train on whose text is also held out, word for word.

    Raises ZooError where none is left to train on.
    """
    fit, held_out = rows
    known = {plain_words(texts[row]) for row in held_out}
    fit = np.array([row for row in fit if plain_words(texts[row]) not in known], dtype=int)
    if not len(fit):
        raise ZooError(f"--validation {share} leaves nothing to train on that is not held out too")
    return fit, held_out
