"""Scores of a saved model on texts, its mistakes, and whether it was trained on those texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import ValidationError

from zoo.config.reading import Division
from zoo.config.settings import Execution
from zoo.data.encoding import windows
from zoo.data.sources.corpus import IGNORED
from zoo.data.sources.load_data import load_texts
from zoo.data.tokenizer import Vocabulary
from zoo.errors import ZooError, nearest
from zoo.inference.card import Card
from zoo.models.mask_filler import MaskFiller
from zoo.models.text_model import TextClassifier, TextTagger
from zoo.registry import Registry
from zoo.sweep.make_request import values_in
from zoo.tasks.base import Evaluation as Outputs
from zoo.tasks.base import Metric, Task, TaskSetup
from zoo.tasks.classify import class_evaluation
from zoo.tasks.encoder_task import EncoderTask
from zoo.tasks.mlm import MaskedLanguageModelling, masked_split
from zoo.tasks.tag import tag_evaluation
from zoo.training.device import resolve

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
    numbers = _numbers(model.labels, labels)
    predictions = model.predict(texts)
    wrong = [
        Mistake(p.text, label, p.label, p.probabilities[label])
        for p, label in zip(predictions, labels, strict=True)
        if p.label != label
    ]
    predicted = np.array([numbers[prediction.label] for prediction in predictions])
    true = np.array([numbers[label] for label in labels])
    outputs = class_evaluation(predicted, true, len(numbers), groups)
    return _scores(model.labels, outputs, metrics, predictions, wrong)


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
        groups={g: {"examples": o["examples"], **values(o)} for g, o in found.groups.items()},
    )


def evaluate_masks(
    model: MaskFiller,
    task: MaskedLanguageModelling,
    texts: Sequence[str],
    metrics: Sequence[Metric] = (),
) -> dict[str, Any]:
    """The metrics on these texts, with the fixed masks that a training is scored by.

    With ``tokens`` and ``bytes``, of the masked pieces, and ``unknown``, how many texts have words
    that the model does not know. Raises ZooError where nothing is masked.
    """
    card = model.card
    options = task.options.model_validate(card.task_options)
    documents = windows(model.tokenizer, texts, model.max_length)
    if not len(documents):
        raise ZooError("these texts have no word")
    split = masked_split(options, documents, Vocabulary.of(model.tokenizer), model.device)
    setup = TaskSetup(task, options, card.sizes, card.training, card.vocab_size, card.labels)
    runtime = resolve(Execution(device=model.device.type, precision="fp32"))  # type: ignore[arg-type]
    found = task.evaluate(setup, model, split, runtime)
    text_of_token = np.repeat(documents.columns["texts"], documents.lengths)
    unknown = np.unique(text_of_token[documents.ids == model.unknown_id])
    return {
        **{m.description.name: m.compute(found.outputs) for m in metrics},
        "tokens": found.details["tokens"],
        "bytes": found.details["bytes"],
        "unknown": len(unknown),
    }


def trained_on_warning(
    card: Card, task: Task, data: str, split: str, given: Mapping[str, Any], registry: Registry
) -> str:
    """A line where a split of the data, or ``all``, has texts of the model's training; else empty.

    given: options of how the data are read. Copies of the texts in other data are not known.
    """
    of_all_data = not card.metrics.get("scored", "test")
    if not (of_all_data or split in ("train", "all")):
        return ""
    reading = {name: value for name, value in given.items() if name not in Division.model_fields}
    try:  # these data, divided as for the training
        # The card has the name of a test file, and the command its path.
        known = dict(card.task_options)
        if path := next(values_in(card.command, "--test"), ""):
            known["test"] = path
        options: Any = task.options.model_validate({**known, **reading})
        found: Any
        if isinstance(task, EncoderTask):
            found, _ = task.read(data, options, registry)
            found = found if options.keep_duplicates else found.without_duplicates()
        else:
            keep = options.keep_duplicates
            found, _ = load_texts(registry, data, options.reader(), keep_duplicates=keep)
    except (ZooError, ValidationError):
        return ""
    if found.fingerprint != card.data["fingerprint"]:
        return ""
    which = "these texts" if of_all_data or split == "train" else "some of these texts"
    return f"warning: the model was trained on {which}; its scores say little of new ones"
