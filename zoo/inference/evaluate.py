"""Scores of a saved classifier on labelled texts, and its mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zoo.errors import ZooError, nearest
from zoo.models.text_classifier import TextClassifier
from zoo.tasks.base import Metric


@dataclass(frozen=True)
class ClassScore:
    """The scores of one class; support: how many documents have it as their label."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class Mistake:
    """A document with a wrong prediction; probability: of its true class."""

    text: str
    label: str
    predicted: str
    probability: float


@dataclass(frozen=True)
class Evaluation:
    """The scores of a model on some documents.

    metrics: those of the model's task, by name.
    confusion: rows are true classes, columns predicted ones. mistakes: all, the lowest probability
    of the true class first. cut, unknown: how many documents are longer than the model reads, and
    how many have tokens it does not know.
    """

    documents: int
    metrics: dict[str, float]
    classes: list[ClassScore]
    confusion: list[list[int]]
    mistakes: list[Mistake]
    cut: int
    unknown: int


def evaluate(
    model: TextClassifier,
    texts: Sequence[str],
    labels: Sequence[str],
    metrics: Sequence[Metric] = (),
) -> Evaluation:
    """Predict every text and compare the prediction with its label, the name of a class.

    metrics: of the model's task. Raises ZooError for a label that the model does not know.
    """
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    if unknown := next((label for label in labels if label not in model.labels), ""):
        raise ZooError(
            f"these data have a class '{unknown}', which the model was not trained for"
            f"{nearest(unknown, model.labels)}"
        )
    predictions = model.predict(texts)
    predicted = [prediction.label for prediction in predictions]
    per_class = precision_recall_fscore_support(
        labels, predicted, labels=model.labels, zero_division=0
    )
    outputs = {
        "labels": np.array([model.labels.index(label) for label in labels]),
        "predicted": np.array([model.labels.index(label) for label in predicted]),
        "classes": len(model.labels),
    }
    wrong = [
        Mistake(p.text, label, p.label, p.probabilities[label])
        for p, label in zip(predictions, labels, strict=True)
        if p.label != label
    ]
    return Evaluation(
        documents=len(texts),
        metrics={metric.description.name: metric.compute(outputs) for metric in metrics},
        classes=[
            ClassScore(label, float(precision), float(recall), float(f1), int(support))
            for label, precision, recall, f1, support in zip(model.labels, *per_class, strict=True)
        ],
        confusion=confusion_matrix(labels, predicted, labels=model.labels).tolist(),
        mistakes=sorted(wrong, key=lambda mistake: mistake.probability),
        cut=sum(prediction.cut > 0 for prediction in predictions),
        unknown=sum(prediction.unknown > 0 for prediction in predictions),
    )
