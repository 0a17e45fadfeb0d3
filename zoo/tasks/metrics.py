"""The built-in metrics: how each is described, and how it follows from a model's outputs."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.registry.declarations import part
from zoo.tasks.base import Metric

Outputs = Mapping[str, Any]
_surprise = functools.partial(
    MetricDescription,
    higher_is_better=False,
    scale=1.0,
    unit_digits=3,
    highest=None,
    scored="tokens",
)


@part("metric", "accuracy")
def accuracy() -> Metric:
    """The share of examples whose predicted class is the true one."""
    return Metric(
        MetricDescription(name="accuracy", label="accuracy", paired=True),
        lambda outputs: float((outputs["predicted"] == outputs["labels"]).mean()),
    )


@part("metric", "macro_f1")
def macro_f1() -> Metric:
    """The mean of F1 = 2PR / (P + R) over the classes in truth or predictions, as in scikit-learn.

    0 for a class that is never predicted, or never true.
    """
    return Metric(MetricDescription(name="macro_f1", label="macro F1"), _macro_f1)


def _macro_f1(outputs: Outputs) -> float:
    from sklearn.metrics import f1_score

    true, predicted = outputs["labels"], outputs["predicted"]
    return float(f1_score(true, predicted, average="macro", zero_division=0))


@part("metric", "bits_per_byte")
def bits_per_byte() -> Metric:
    """Negative log2-likelihood of all scored tokens, over the bytes that they stand for."""
    return Metric(
        _surprise(name="bits_per_byte", label="bits/byte", unit="bits per byte"),
        lambda outputs: outputs["nats"] / math.log(2) / max(1, outputs["bytes"]),
    )


@part("metric", "nats_per_token")
def nats_per_token() -> Metric:
    """Mean negative log-likelihood of a token."""
    return Metric(
        _surprise(name="nats_per_token", label="nats/token", unit="nats"),
        lambda outputs: outputs["nats"] / outputs["tokens"],
    )


@part("metric", "exact_match")
def exact_match() -> Metric:
    """The share of pairs whose target is generated letter by letter, greedily."""
    return Metric(
        MetricDescription(name="exact_match", label="exact match", scored="pairs", paired=True),
        lambda outputs: 1 - outputs["wrong"] / outputs["pairs"],
    )


@part("metric", "token_accuracy")
def token_accuracy() -> Metric:
    """The share of scored tokens that are right.

    Of a target it is the share of tokens that are the most likely ones after the true tokens before
    them. Not paired: the tokens of one text are no independent examples.
    """
    return Metric(
        MetricDescription(name="token_accuracy", label="token accuracy", scored="tokens"),
        lambda outputs: outputs["right_tokens"] / outputs["tokens"],
    )


@part("metric", "span_f1")
def span_f1() -> Metric:
    """F1 of whole spans (Tjong Kim Sang and De Meulder, CoNLL-2003, section 4).

    A span is right where its first and last token and its type are; for tags in BIO notation.
    Counts are of all types together. Without any right span it is 0.
    """
    return Metric(
        MetricDescription(name="span_f1", label="span F1", scored="tokens"), _span_f1, is_bio
    )


def is_bio(labels: Sequence[str]) -> bool:
    """Whether tags mark spans: each is ``O``, ``B-`` or ``I-`` and a type, and a span can begin."""
    return all(re.fullmatch(r"O|[BI]-.+", label) for label in labels) and any(
        label.startswith("B-") for label in labels
    )


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """The spans of one text: index of the first token, index after the last one, and type.

    ``B-X`` begins a span, and so does ``I-X`` where no span of type X is open: models give such
    tags too (as of the CoNLL evaluation script, conlleval).
    """
    whole = set()
    start, kind = 0, ""  # of the open span; no kind: none is open
    for place, tag in enumerate([*tags, "O"]):
        prefix, own = tag[:1], tag[2:]
        if kind and (prefix != "I" or own != kind):
            whole.add((start, place, kind))
            kind = ""
        if own and not kind:
            start, kind = place, own
    return whole


def _span_f1(outputs: Outputs) -> float:
    names, ends = outputs["names"], list(itertools.accumulate(outputs["lengths"]))
    expected, answered = (
        {
            (start, *span)
            for start, end in itertools.pairwise([0, *ends])
            for span in spans([names[tag] for tag in outputs[tags][start:end]])
        }
        for tags in ("labels", "predicted")
    )
    right = len(expected & answered)
    if not right:
        return 0.0
    precision, recall = right / len(answered), right / len(expected)
    return 2 * precision * recall / (precision + recall)
