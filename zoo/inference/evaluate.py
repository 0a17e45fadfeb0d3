"""Scores of a saved classifier or tagger on labelled texts, and its mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zoo.data.sources.corpus import IGNORED
from zoo.errors import ZooError, nearest
from zoo.models.text_classifier import TextClassifier
from zoo.models.text_tagger import TextTagger
from zoo.tasks.base import Evaluation as Outputs
from zoo.tasks.base import Metric
from zoo.tasks.classify import class_evaluation
from zoo.tasks.tag import tag_evaluation

NEIGHBOURS = 2  # tokens on each side of a mistaken one that are shown


@dataclass(frozen=True)
class ClassScore:
    """The scores of one class or tag; support: how many documents or tokens have it as label."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class Mistake:
    """A document, or a token among its neighbours, with a wrong prediction.

    probability: of its true class.
    """

    text: str
    label: str
    predicted: str
    probability: float


@dataclass(frozen=True)
class Evaluation:
    """The scores of a model on some documents; a tagger's are of their tokens.

    metrics: those of the model's task, by name. confusion: rows are true classes, columns predicted
    ones. mistakes: all, the lowest probability of the true class first. cut, unknown: how many
    documents are longer than the model reads, and how many have tokens it does not know. groups:
    by group of texts, ``examples`` and the metrics.
    """

    documents: int
    metrics: dict[str, float]
    classes: list[ClassScore]
    confusion: list[list[int]]
    mistakes: list[Mistake]
    cut: int
    unknown: int
    groups: dict[str, dict[str, float]] = field(default_factory=dict)


def evaluate(
    model: TextClassifier,
    texts: Sequence[str],
    labels: Sequence[str],
    metrics: Sequence[Metric] = (),
    groups: Sequence[str] = (),
) -> Evaluation:
    """Predict every text and compare the prediction with its label, the name of a class.

    metrics: of the model's task. groups: of the texts. Raises ZooError for a label that the model
    does not know.
    """
    number = _numbers(model.labels, labels)
    predictions = model.predict(texts)
    wrong = [
        Mistake(p.text, label, p.label, p.probabilities[label])
        for p, label in zip(predictions, labels, strict=True)
        if p.label != label
    ]
    predicted, true = (
        np.array([number[label] for label in found])
        for found in ([p.label for p in predictions], labels)
    )
    found = class_evaluation(predicted, true, len(number), groups)
    return _scores(model.labels, found, metrics, predictions, wrong)


def evaluate_tags(
    model: TextTagger,
    texts: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str | None]],
    metrics: Sequence[Metric] = (),
    groups: Sequence[str] = (),
) -> Evaluation:
    """Predict the tags of every text and compare them with its own, the names of tags.

    None: a tag that does not count. Tokens beyond the model's length are not scored. The rest is as
    in ``evaluate``.
    """
    numbers = _numbers(model.labels, [tag for its in tags for tag in its if tag is not None])
    predictions = model.predict(texts)
    wrong, predicted, true = list[Mistake](), list[np.ndarray](), list[np.ndarray]()
    for found, its_tags in zip(predictions, tags, strict=True):
        codes = np.array([IGNORED if t is None else numbers[t] for t in its_tags])
        codes = codes[: len(found.tokens)]
        scored = codes != IGNORED
        best = found.distribution.argmax(axis=1)
        predicted.append(best[scored])
        true.append(codes[scored])
        for place in np.flatnonzero(scored & (best != codes)).tolist():
            code = int(codes[place])
            before = found.tokens[max(0, place - NEIGHBOURS) : place]
            after = found.tokens[place + 1 : place + 1 + NEIGHBOURS]
            text = " ".join([*before, f"[{found.tokens[place]}]", *after])
            share = float(found.distribution[place, code])
            wrong.append(Mistake(text, model.labels[code], found.tags[place], share))
    if not sum(map(len, true)):
        raise ZooError("no token of these data has a tag that counts: nothing is scored")
    outputs = tag_evaluation(predicted, true, model.labels, groups)
    return _scores(model.labels, outputs, metrics, predictions, wrong)


def _numbers(known: Sequence[str], labels: Sequence[str]) -> dict[str, int]:
    """The number of each label of a model; ZooError where it lacks one of these."""
    for label in labels:
        if label not in known:
            raise ZooError(
                f"these data have a class '{label}', which the model was not trained for"
                f"{nearest(label, known)}"
            )
    return {label: index for index, label in enumerate(known)}


def _scores(
    names: Sequence[str],
    found: Outputs,
    metrics: Sequence[Metric],
    predictions: Sequence[Any],
    wrong: Sequence[Mistake],
) -> Evaluation:
    from sklearn.metrics import precision_recall_fscore_support

    def values(outputs: Mapping[str, Any]) -> dict[str, float]:
        return {metric.description.name: metric.compute(outputs) for metric in metrics}

    true, predicted = found.outputs["labels"], found.outputs["predicted"]
    per_class = precision_recall_fscore_support(
        true, predicted, labels=list(range(len(names))), zero_division=0
    )
    return Evaluation(
        documents=len(predictions),
        metrics=values(found.outputs),
        classes=[
            ClassScore(label, float(precision), float(recall), float(f1), int(support))
            for label, precision, recall, f1, support in zip(names, *per_class, strict=True)
        ],
        confusion=found.details["confusion"],
        mistakes=sorted(wrong, key=lambda mistake: mistake.probability),
        cut=sum(prediction.cut > 0 for prediction in predictions),
        unknown=sum(prediction.unknown > 0 for prediction in predictions),
        groups={
            group: {"examples": outputs["examples"], **values(outputs)}
            for group, outputs in found.groups.items()
        },
    )
