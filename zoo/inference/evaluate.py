"""Scores of a saved model on texts, and its mistakes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zoo.config.flags import flag
from zoo.config.request import validated
from zoo.config.settings import Execution
from zoo.data.encoding import windows
from zoo.data.sources.corpus import IGNORED, Examples, content_digest
from zoo.data.sources.load_data import find_registered, load_texts
from zoo.data.tokenizer import Vocabulary
from zoo.errors import ZooError, nearest
from zoo.models.text_model import MaskFiller, TaggedText, TextClassifier, TextTagger
from zoo.registry import Registry
from zoo.tasks.base import Metric
from zoo.tasks.classify import class_evaluation
from zoo.tasks.data_of_task import refuse_unread
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
            raise ZooError(
                f"these data have a class '{label}', which the model was not trained for"
                f"{nearest(label, names)}"
            )
    predictions: Sequence[Any] = model.predict(texts)
    if is_tagger:
        pairs = [
            (tagged, np.array([numbers[tag] for tag in tags])[: len(tagged.tokens)])
            for tagged, tags in zip(predictions, labels, strict=True)
        ]
        codes = [true[true != IGNORED] for _, true in pairs]
        if not sum(map(len, codes)):
            raise ZooError("no token of these data has a tag that counts: nothing is scored")
        best = [tagged.distribution.argmax(axis=1)[true != IGNORED] for tagged, true in pairs]
        scored = tag_evaluation(best, codes, names, groups)
        mistakes = [wrong for tagged, true in pairs for wrong in _wrong_tags(tagged, true, names)]
    else:
        predicted = np.array([numbers[prediction.label] for prediction in predictions])
        true = np.array([numbers[label] for label in labels])
        scored = class_evaluation(predicted, true, len(names), groups)
        mistakes = [
            Mistake(prediction.text, label, prediction.label, prediction.probabilities[label])
            for prediction, label in zip(predictions, labels, strict=True)
            if prediction.label != label
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
            group: {"examples": of_group["examples"], **_values(metrics, of_group)}
            for group, of_group in scored.groups.items()
        },
    )


def _wrong_tags(tagged: TaggedText, true: np.ndarray, names: Sequence[str]) -> Iterator[Mistake]:
    """The mistakes in one text, each token among its neighbours."""
    wrong = (true != IGNORED) & (tagged.distribution.argmax(axis=1) != true)
    for place in np.flatnonzero(wrong).tolist():
        before = tagged.tokens[max(0, place - NEIGHBOURS) : place]
        after = tagged.tokens[place + 1 : place + 1 + NEIGHBOURS]
        text = " ".join([*before, f"[{tagged.tokens[place]}]", *after])
        share = float(tagged.distribution[place, true[place]])
        yield Mistake(text, names[true[place]], tagged.tags[place], share)


def _values(metrics: Sequence[Metric], outputs: Mapping[str, Any]) -> dict[str, float]:
    return {metric.description.name: metric.of(outputs) for metric in metrics}


def evaluate_masks(
    model: MaskFiller, registry: Registry, texts: Sequence[str], metrics: Sequence[Metric] = ()
) -> Evaluation:
    """The scores on these texts, with the fixed masks that a training is scored by.

    Raises ZooError where nothing is masked.
    """
    setup = model.card.setup(registry)
    documents = windows(model.tokenizer, texts, model.max_length)
    if not len(documents):
        raise ZooError("these texts have no word")
    words = Vocabulary.of(model.tokenizer)
    split = masked_split(setup.options, documents, words, model.device)
    runtime = resolve(Execution(device=model.device.type, precision="fp32"))  # type: ignore[arg-type]
    scores = setup.task.evaluate(setup, model, split, runtime)
    text_of_token = np.repeat(documents.columns["texts"], documents.lengths)
    return Evaluation(
        documents=len(texts),
        metrics={
            **_values(metrics, scores.outputs),
            **{name: scores.details[name] for name in ("tokens", "bytes")},
        },
        unknown=len(np.unique(text_of_token[documents.ids == model.unknown_id])),
    )


@dataclass(frozen=True)
class Scored:
    """An evaluation of a split of some data, with notices of how these were read."""

    data: str
    fingerprint: str
    evaluation: Evaluation
    metrics: Sequence[Metric]
    notices: Sequence[str]


def evaluate_data(
    model: Any, registry: Registry, data: str, split: str, given: Mapping[str, Any]
) -> Scored:
    """Score a model on a split of labelled texts: test, train, validation or all.

    all: of a file, its rows undivided. given: options of how the data are read. Raises ZooError
    for what the model's task cannot read or score.
    """
    card = model.card
    task = card.find_task(registry)
    if not isinstance(model, MaskFiller) and not isinstance(task, EncoderTask):
        raise ZooError(f"zoo evaluate cannot read labelled texts for --task {card.task}")
    for name in given:
        if name not in task.options.model_fields:
            raise ZooError(f"{flag(name)} is no option of {task.model_name}, which this model is")
    refuse_unread(registry, task, card.task, data)
    options = validated(task.options, given)
    metrics = task.metrics_from(registry, card.labels)
    if isinstance(model, MaskFiller):
        texts, notices = load_texts(registry, data, options.reader())
        name, fingerprint = texts.name, texts.fingerprint
        held_out = texts.splits["validation"]
        parts = {"train": texts.train, "test": held_out, "validation": held_out}
        wanted = ("train", "test") if split == "all" else (split,)
        chosen = [text for part in wanted for text in parts[part].texts]
        evaluation = evaluate_masks(model, registry, chosen, metrics)
    else:
        name, fingerprint, examples, notices = _labelled(task, options, data, split, registry)
        evaluation = evaluate(model, examples.texts, examples.targets, metrics, examples.groups)
    scored = card.metrics.get("scored", "test")
    if name == card.data["name"] and (split in ("train", "all") or not scored):
        notices = [*notices, f"warning: the model was trained on texts of {name}"]
    return Scored(name, fingerprint, evaluation, metrics, notices)


def _labelled(
    task: EncoderTask, options: Any, data: str, split: str, registry: Registry
) -> tuple[str, str, Examples, list[str]]:
    """The name, fingerprint and examples of a split, with names as targets, and notices."""
    path = Path(data).expanduser()
    if split == "all" and path.exists() and not find_registered(registry, data):
        notices: list[str] = []
        examples = task.reader(options).read_undivided(path, notices)
        digest = content_digest([json.dumps([examples.texts, examples.targets])])
        return path.resolve().name, digest, examples, notices
    corpus, notices = task.read(data, options, registry)
    return corpus.name, corpus.fingerprint, _examples_of(corpus, split), notices


def _examples_of(corpus: Any, split: str) -> Examples:
    """The examples of a corpus that are in this split, or in any, with names as targets."""
    parts = [corpus.splits[part] for part in corpus.splits if split in (part, "all")]
    if not parts:
        raise ZooError(f"{corpus.name} has no {split} split")
    names = {IGNORED: None, **dict(enumerate(corpus.label_names))}
    return Examples(
        [text for part in parts for text in part.texts],
        [
            names[label] if isinstance(label, int) else [names[tag] for tag in label]
            for part in parts
            for label in part.targets
        ],
        parts[0].groups if split == "test" else [],
    )
