"""Classifiers that learn from raw texts, and how classifiers are evaluated."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.tasks.base import Estimator, Evaluation
from zoo.tasks.encoder_task import LATENCY_TEXTS, Rows, by_group

if TYPE_CHECKING:
    from zoo.data.encoding.encoded_documents import EncodedDocuments


class TextEstimator(Estimator):
    """A baseline that fits raw texts; its tokens are counted with the zoo's tokenizer.

    scored: the split that is scored, or rows of the training split, to fit and to score. groups:
    of the scored texts. whole: it reads whole texts; else each is cut at the end of the last token
    that a cell reads.
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        data: EncodedDocuments,
        scored: str | Rows,
        groups: Sequence[str] = (),
        *,
        whole: bool = False,
    ) -> None:
        self.factory, self.classes, self.groups = factory, len(data.label_names), groups
        splits = {split: (texts, labels) for split, texts, labels in data.corpus().splits()}
        texts, labels = splits["train"]
        texts, lengths = _texts_read(data, "train", texts, whole)
        if isinstance(scored, str):
            self.texts, self.labels, fit_lengths = texts, labels, lengths
            self.scored_texts, self.scored_labels = splits[scored]
            self.scored_texts, scored_lengths = _texts_read(data, scored, self.scored_texts, whole)
        else:
            fit, held_out = scored
            self.texts, self.labels = [texts[i] for i in fit], [labels[i] for i in fit]
            self.scored_texts = [texts[i] for i in held_out]
            self.scored_labels = [labels[i] for i in held_out]
            fit_lengths, scored_lengths = lengths[fit], lengths[held_out]
        self.train_tokens, self.scored_tokens = int(fit_lengths.sum()), int(scored_lengths.sum())

    def fit(self) -> None:
        self.model = self.factory()
        self.model.fit(self.texts, self.labels)

    def predict(self) -> None:
        self.model.predict(self.scored_texts)

    def single_predictions(self) -> Sequence[Callable[[], object]]:
        texts = self.scored_texts[:LATENCY_TEXTS]
        return [functools.partial(self.model.predict, [text]) for text in texts]

    def evaluate(self) -> Evaluation:
        predicted = np.array(self.model.predict(self.scored_texts))
        return evaluation(predicted, np.array(self.scored_labels), self.classes, self.groups)


def _texts_read(
    data: EncodedDocuments, split: str, texts: list[str], whole: bool
) -> tuple[list[str], np.ndarray]:
    """The texts of a split, whole or cut as cells read them, and the tokens of each (texts)."""
    truncation = data.truncation(split)
    if whole:
        return texts, truncation.lengths
    cut = [text[:end] for text, end in zip(texts, truncation.ends, strict=True)]
    return cut, data.split(split).lengths


def evaluation(
    predicted: np.ndarray, labels: np.ndarray, classes: int, groups: Sequence[str] = ()
) -> Evaluation:
    """The outputs of a classifier, with the confusion matrix (rows: true class) and each error.

    errors: [row of the split, true label, predicted label] of every wrong document. groups: the
    group of every document; F1 of a group is over the classes that occur in it.
    """
    from sklearn.metrics import confusion_matrix

    outputs = {"predicted": predicted, "labels": labels, "classes": classes}
    details = {
        "examples": len(labels),
        "confusion": confusion_matrix(labels, predicted, labels=list(range(classes))).tolist(),
        "errors": [
            [int(row), int(labels[row]), int(predicted[row])]
            for row in np.flatnonzero(predicted != labels)
        ],
    }
    parts = {
        group: {
            **outputs,
            "predicted": predicted[rows],
            "labels": labels[rows],
            "present": np.unique(labels[rows]).tolist(),
            "examples": len(rows),
        }
        for group, rows in by_group(groups).items()
    }
    return Evaluation(outputs, details, parts)
