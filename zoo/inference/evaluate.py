"""Scores of a saved model on texts, its mistakes, and whether it was trained on those texts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import ValidationError

from zoo.config.reading import Division
from zoo.config.settings import Execution
from zoo.data.encoding import windows
from zoo.data.sources.corpus import IGNORED
from zoo.data.sources.labels import MERGE, plain_label
from zoo.data.sources.load_data import load_texts
from zoo.data.tokenizer import Vocabulary
from zoo.errors import ZooError, nearest
from zoo.inference.card import Card
from zoo.models.text_model import MaskFiller, TaggedText, TextClassifier, TextTagger
from zoo.registry import Registry
from zoo.sweep.make_request import values_in
from zoo.tasks.base import Metric, Task
from zoo.tasks.classify import class_evaluation
from zoo.tasks.encoder_task import EncoderTask
from zoo.tasks.mlm import masked_split
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

    metrics: those of the model's task, by name; of a masked language model with ``tokens`` and
    ``bytes``, of the masked pieces, and nothing of classes. confusion: rows are true classes,
    columns predicted ones. mistakes: all, the lowest probability of the true class first. cut,
    unknown: how many documents are longer than the model reads, and how many have tokens it does
    not know. groups: by group of texts, ``examples`` and the metrics.
    """

    documents: int
    metrics: dict[str, float]
    classes: list[ClassScore] = field(default_factory=list)
    confusion: list[list[int]] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    cut: int = 0
    unknown: int = 0
    groups: dict[str, dict[str, float]] = field(default_factory=dict)


def evaluate(
    model: TextClassifier | TextTagger,
    texts: Sequence[Any],
    labels: Sequence[Any],
    metrics: Sequence[Metric] = (),
    groups: Sequence[str] = (),
) -> Evaluation:
    """Predict every text and compare the prediction with its label, the name of a class.

    Of a tagger, the tokens of every text and a tag for each; None is a tag that does not count, and
    tokens beyond the model's length are not scored. metrics: of the model's task. groups: of the
    texts. Raises ZooError for a label that the model does not know.
    """
    from sklearn.metrics import precision_recall_fscore_support

    names, is_tagger = model.labels, isinstance(model, TextTagger)
    numbers: dict[str | None, int] = {
        None: IGNORED,
        **{label: index for index, label in enumerate(names)},
    }
    for label in itertools.chain.from_iterable(labels) if is_tagger else labels:
        if label not in numbers:
            alike = [name for name in names if plain_label(name) == plain_label(label)]
            hint = f"; {MERGE} makes it '{alike[0]}'" if len(alike) == 1 else nearest(label, names)
            raise ZooError(
                f"these data have a class '{label}', which the model was not trained for{hint}"
            )
    predictions: Sequence[Any] = model.predict(texts)
    if is_tagger:
        pairs = [
            (found, np.array([numbers[tag] for tag in tags])[: len(found.tokens)])
            for found, tags in zip(predictions, labels, strict=True)
        ]
        codes = [true[true != IGNORED] for _, true in pairs]
        if not sum(map(len, codes)):
            raise ZooError("no token of these data has a tag that counts: nothing is scored")
        best = [found.distribution.argmax(axis=1)[true != IGNORED] for found, true in pairs]
        scored = tag_evaluation(best, codes, names, groups)
        mistakes = [mistake for found, true in pairs for mistake in _wrong_tags(found, true, names)]
    else:
        predicted = np.array([numbers[found.label] for found in predictions])
        true = np.array([numbers[label] for label in labels])
        scored = class_evaluation(predicted, true, len(names), groups)
        mistakes = [
            Mistake(found.text, label, found.label, found.probabilities[label])
            for found, label in zip(predictions, labels, strict=True)
            if found.label != label
        ]
    outputs = scored.outputs
    per_class = precision_recall_fscore_support(
        outputs["labels"], outputs["predicted"], labels=list(range(len(names))), zero_division=0
    )
    return Evaluation(
        documents=len(predictions),
        metrics=_values(metrics, outputs),
        classes=[
            ClassScore(label, float(precision), float(recall), float(f1), int(support))
            for label, precision, recall, f1, support in zip(names, *per_class, strict=True)
        ],
        confusion=scored.details["confusion"],
        mistakes=sorted(mistakes, key=lambda mistake: mistake.probability),
        cut=sum(prediction.cut > 0 for prediction in predictions),
        unknown=sum(prediction.unknown > 0 for prediction in predictions),
        groups={
            group: {"examples": its["examples"], **_values(metrics, its)}
            for group, its in scored.groups.items()
        },
    )


def _wrong_tags(found: TaggedText, true: np.ndarray, names: Sequence[str]) -> Iterator[Mistake]:
    """The mistakes in one text, each token among its neighbours."""
    wrong = (true != IGNORED) & (found.distribution.argmax(axis=1) != true)
    for place in np.flatnonzero(wrong).tolist():
        before = found.tokens[max(0, place - NEIGHBOURS) : place]
        after = found.tokens[place + 1 : place + 1 + NEIGHBOURS]
        text = " ".join([*before, f"[{found.tokens[place]}]", *after])
        share = float(found.distribution[place, true[place]])
        yield Mistake(text, names[true[place]], found.tags[place], share)


def _values(metrics: Sequence[Metric], outputs: Mapping[str, Any]) -> dict[str, float]:
    return {metric.description.name: metric.of(outputs) for metric in metrics}


def evaluate_masks(
    model: MaskFiller, registry: Registry, texts: Sequence[str], metrics: Sequence[Metric] = ()
) -> Evaluation:
    """The scores on these texts, with the fixed masks that a training is scored by.

    Raises ZooError where nothing is masked.
    """
    setup = model.card.setup(registry, allow_changed=True)
    documents = windows(model.tokenizer, texts, model.max_length)
    if not len(documents):
        raise ZooError("these texts have no word")
    words = Vocabulary.of(model.tokenizer)
    split = masked_split(setup.options, documents, words, model.device)
    runtime = resolve(Execution(device=model.device.type, precision="fp32"))  # type: ignore[arg-type]
    found = setup.task.evaluate(setup, model, split, runtime)
    text_of_token = np.repeat(documents.columns["texts"], documents.lengths)
    return Evaluation(
        documents=len(texts),
        metrics={
            **_values(metrics, found.outputs),
            **{name: found.details[name] for name in ("tokens", "bytes")},
        },
        unknown=len(np.unique(text_of_token[documents.ids == model.unknown_id])),
    )


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
