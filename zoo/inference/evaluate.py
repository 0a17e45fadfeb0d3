"""Scores of a saved model on labelled texts, and the mistakes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zoo.config.request import validated
from zoo.config.settings import flag
from zoo.data.sources.corpus import IGNORED, TRAIN, Examples
from zoo.data.sources.load_data import find_registered, read_raw
from zoo.errors import ZooError, listed, nearest
from zoo.models.text_model import TaggedText, TextClassifier, TextTagger
from zoo.registry import Registry
from zoo.tasks.base import Metric, refuse_data
from zoo.tasks.classify import class_evaluation
from zoo.tasks.encoder_task import EncoderTask
from zoo.tasks.tag import tag_evaluation

CLASS = ("label", "precision", "recall", "f1", "support")  # the scores of a class
NEIGHBOURS = 2  # tokens on each side of a mistaken one that are shown


@dataclass(frozen=True)
class ModelScores:
    """The scores of a model on some documents; a tagger's are of their tokens.

    data: their name. metrics: those of the model's task, by name. classes: of each its label,
    precision, recall, f1 and support, how many documents or tokens have it as label. confusion:
    rows are true classes, columns predicted ones. mistakes: of each the text, or the token among
    its neighbours, its label, what was predicted and the probability of its label, the lowest
    first. cut, unknown: how many documents are longer than the model reads, and how many have
    tokens it does not know. groups: by group of texts, ``examples`` and the metrics.
    """

    data: str
    documents: int
    metrics: dict[str, float]
    classes: list[dict[str, Any]]
    confusion: list[list[int]]
    mistakes: list[dict[str, Any]]
    cut: int
    unknown: int
    groups: dict[str, dict[str, float]]


def evaluate(
    model: Any, registry: Registry, data: str, split: str, reading: Mapping[str, Any]
) -> tuple[ModelScores, list[Metric], list[str]]:
    """Score a model on a split of labelled texts: test, train, validation or all.

    all: of a file, its rows undivided. reading: options of how the data are read. Returns the
    metrics, and notices of the data, too. Raises ZooError for what the model's task cannot read or
    score.
    """
    card, task = model.card, model.card.find_task(registry)
    if not isinstance(task, EncoderTask):
        raise ZooError(f"zoo evaluate cannot read labelled texts for --task {card.task}")
    if other := [flag(name) for name in reading if name not in task.options.model_fields]:
        raise ZooError(f"{listed(other)} is no option of {task.model_name}, which this model is")
    refuse_data(registry, task, card.task, data)
    options = validated(task.options, reading)
    reader = task.reader(options)
    raw = None if find_registered(registry, data) else read_raw(registry, data, reader)
    if raw and (split == "all" or TRAIN not in raw.tables):
        tables = {part: raw.tables[part] for part in raw.tables if split in (part, "all")}
        if not tables:
            there = ", ".join(raw.tables)
            raise ZooError(f"{raw.name} has no {split} split; there is: {there}")
        examples, notices = reader.examples(tables)
        name, notices = raw.name, [*notices, *raw.notices]
    else:
        corpus, notices = reader.data_set(raw) if raw else task.read(data, options, registry)
        name, examples = corpus.name, _examples_of(corpus, split)
    scored = card.metrics.get("scored", "test")
    if name == card.data["name"] and (split in ("train", "all") or not scored):
        notices = [*notices, f"warning: the model was trained on texts of {name}"]
    if unknown := Counter(label for label in _labels(examples) if label not in card.labels):
        names = listed((f"'{label}' ({count})" for label, count in sorted(unknown.items())), 5)
        known, hint = set(card.labels), nearest(min(unknown), card.labels)
        what = f"{name} has {names}, which the model was not trained for"
        if known.isdisjoint(_labels(examples)):
            raise ZooError(f"{what}{hint}")
        notices = [*notices, f"{what}: errors in every score{hint}"]
    metrics = task.metrics_from(registry, card.labels)
    return evaluate_examples(model, name, examples, metrics), metrics, notices


def evaluate_examples(
    model: TextClassifier | TextTagger, name: str, examples: Examples, metrics: Sequence[Metric]
) -> ModelScores:
    """Predict every text and compare the prediction with its target, the name of a class.

    Of a tagger, the tokens of every text and a tag for each; None is a tag that does not count, and
    tokens beyond the model's length are not scored. A class that the model does not know is a
    class that it never predicts.
    """
    from sklearn.metrics import precision_recall_fscore_support

    is_tagger = isinstance(model, TextTagger)
    labels = [*model.labels, *sorted({*_labels(examples)}.difference(model.labels))]
    targets = examples.targets if is_tagger else [[target] for target in examples.targets]
    numbers: dict[Any, int] = {label: number for number, label in enumerate(labels)}
    numbers[None] = IGNORED
    answers: Sequence[Any] = model.predict(examples.texts)
    codes, predicted, mistakes = list[Any](), list[Any](), list[dict[str, Any]]()
    for answer, own in zip(answers, targets, strict=True):
        shares = answer.distribution if is_tagger else np.array([[*answer.probabilities.values()]])
        shares = np.pad(shares, ((0, 0), (0, len(labels) - shares.shape[1])))
        true, best = np.array([numbers[label] for label in own])[: len(shares)], shares.argmax(1)
        counts = true != IGNORED
        codes.append(true[counts])
        predicted.append(best[counts])
        mistakes += [
            {
                "text": _around(answer, place) if is_tagger else answer.text,
                "label": labels[true[place]],
                "predicted": labels[best[place]],
                "probability": float(shares[place, true[place]]),
            }
            for place in np.flatnonzero(counts & (best != true)).tolist()
        ]
    if not sum(map(len, codes)):
        raise ZooError("no token of these data has a tag that counts: nothing is scored")
    if is_tagger:
        scored = tag_evaluation(predicted, codes, labels, examples.groups)
    else:
        flat = np.concatenate(predicted), np.concatenate(codes)
        scored = class_evaluation(*flat, len(labels), examples.groups)
    per_class = precision_recall_fscore_support(
        scored.outputs["labels"],
        scored.outputs["predicted"],
        labels=list(range(len(labels))),
        zero_division=0,
    )
    *shares_of, support = (column.tolist() for column in per_class)
    columns = (labels, *shares_of, map(int, support))
    values, groups = scored.values(metrics)
    return ModelScores(
        data=name,
        documents=len(answers),
        metrics=values,
        classes=[dict(zip(CLASS, row, strict=True)) for row in zip(*columns, strict=True)],
        confusion=scored.details["confusion"],
        mistakes=sorted(mistakes, key=lambda mistake: float(mistake["probability"])),
        cut=sum(answer.cut > 0 for answer in answers),
        unknown=sum(answer.unknown > 0 for answer in answers),
        groups=groups,
    )


def _labels(examples: Examples) -> Iterator[str]:
    """The labels of texts, or of their tokens that count."""
    for target in examples.targets:
        own = target if isinstance(target, list) else [target]
        yield from (label for label in own if label is not None)


def _around(answer: TaggedText, place: int) -> str:
    """A token among its neighbours."""
    before = answer.tokens[max(0, place - NEIGHBOURS) : place]
    after = answer.tokens[place + 1 : place + 1 + NEIGHBOURS]
    return " ".join([*before, f"[{answer.tokens[place]}]", *after])


def _examples_of(corpus: Any, split: str) -> Examples:
    """The examples of a corpus that are in this split, or in any, with names as targets."""
    parts = [corpus.splits[part] for part in corpus.splits if split in (part, "all")]
    if not parts:
        raise ZooError(f"{corpus.name} has no {split} split")
    names = {IGNORED: None, **dict(enumerate(corpus.label_names))}
    texts, targets, groups = (list(itertools.chain(*column)) for column in zip(*parts, strict=True))
    named = [names[t] if isinstance(t, int) else [names[tag] for tag in t] for t in targets]
    return Examples(texts, named, groups if len(groups) == len(texts) else [])
