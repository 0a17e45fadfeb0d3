"""Taggers that learn from lists of tokens, and how taggers are evaluated."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.data.sources.corpus import IGNORED
from zoo.tasks.base import Estimator, Evaluation
from zoo.tasks.encoder_task import LATENCY_TEXTS, Rows, by_group

if TYPE_CHECKING:
    from zoo.data.encoding.encoded_tags import EncodedTags


class TagEstimator(Estimator):
    """A baseline that fits tokens and tags: those that the cells read, and no others.

    scored: the split that is scored, or rows of the training split, to fit and to score. groups:
    of the scored texts.
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        data: EncodedTags,
        scored: str | Rows,
        groups: Sequence[str] = (),
    ) -> None:
        self.factory, self.names, self.groups = factory, data.label_names, groups
        splits = {}
        for split, texts, tags in data.corpus().splits():
            counts, lengths = data.token_counts(split), data.split(split)[0].lengths
            read = [text[:count] for text, count in zip(texts, counts, strict=True)]
            its_tags = [each[:count] for each, count in zip(tags, counts, strict=True)]
            splits[split] = read, its_tags, lengths
        fit = splits["train"]
        if isinstance(scored, str):
            held_out = splits[scored]
        else:
            fit, held_out = (
                ([fit[0][i] for i in part], [fit[1][i] for i in part], fit[2][part])
                for part in scored
            )
        self.texts, self.tags, fit_lengths = fit
        self.scored_texts, self.scored_tags, scored_lengths = held_out
        self.train_tokens, self.scored_tokens = int(fit_lengths.sum()), int(scored_lengths.sum())

    def fit(self) -> None:
        self.model = self.factory()
        self.model.fit(self.texts, self.tags)

    def predict(self) -> None:
        self.model.predict(self.scored_texts)

    def single_predictions(self) -> Sequence[Callable[[], object]]:
        texts = self.scored_texts[:LATENCY_TEXTS]
        return [functools.partial(self.model.predict, [tokens]) for tokens in texts]

    def evaluate(self) -> Evaluation:
        tags = [np.array(its_tags) for its_tags in self.scored_tags]
        scored = [its_tags != IGNORED for its_tags in tags]
        predicted = [np.array(found) for found in self.model.predict(self.scored_texts)]
        return tag_evaluation(
            [found[mask] for found, mask in zip(predicted, scored, strict=True)],
            [its_tags[mask] for its_tags, mask in zip(tags, scored, strict=True)],
            self.names,
            self.groups,
        )


def tag_evaluation(
    predicted: Sequence[np.ndarray],
    tags: Sequence[np.ndarray],
    names: Sequence[str],
    groups: Sequence[str] = (),
) -> Evaluation:
    """The outputs of a tagger, with the confusion matrix (rows: true tag).

    predicted, tags: int (scored tokens) of every text. groups: the group of every text; one without
    a scored token is left out. F1 is over the tags that occur among the true ones.
    """
    from sklearn.metrics import confusion_matrix

    def outputs(rows: np.ndarray) -> dict[str, Any]:
        found = np.concatenate([predicted[row] for row in rows]).astype(np.int64)
        labels = np.concatenate([tags[row] for row in rows]).astype(np.int64)
        return {
            "predicted": found,
            "labels": labels,
            "present": np.unique(labels).tolist(),
            "classes": len(names),
            "names": list(names),
            "lengths": [len(tags[row]) for row in rows],
            "right_tokens": int((found == labels).sum()),
            "tokens": len(labels),
            "examples": len(labels),
        }

    whole = outputs(np.arange(len(tags)))
    parts = {group: outputs(rows) for group, rows in by_group(groups).items()}
    matrix = confusion_matrix(whole["labels"], whole["predicted"], labels=list(range(len(names))))
    right = [int((its == true).sum()) for its, true in zip(predicted, tags, strict=True)]
    details = {
        "examples": whole["examples"],
        "effective_examples": {"token_accuracy": effective_examples(right, whole["lengths"])},
        "texts": len(tags),
        "confusion": matrix.tolist(),
    }
    return Evaluation(whole, details, {g: part for g, part in parts.items() if part["tokens"]})


def effective_examples(right: Sequence[int], scored: Sequence[int]) -> float:
    """How many independent tokens would tell as much of the share of right ones.

    right, scored: tokens of every text. Texts are what is sampled: the tokens of one are alike.
    With r_t of n_t tokens right in text t of T, p = Σ r / Σ n has the variance of a ratio,
    V = T / (T - 1) Σ (r - p n)² / (Σ n)² (Cochran 1977, Sampling Techniques, chapter 3, proportions
    in cluster sampling), and p (1 - p) / V is the effective sample size. It is at most Σ n, and T
    where V cannot be known: everything is right or wrong, or there is one text.
    """
    counts = np.array([right, scored], dtype=float)[:, np.asarray(scored) > 0]
    total, texts = float(counts[1].sum()), counts.shape[1]
    p = float(counts[0].sum()) / total
    if texts < 2 or p in (0.0, 1.0):
        return float(texts)
    squares = float(((counts[0] - p * counts[1]) ** 2).sum())
    variance = texts / (texts - 1) * squares / total**2
    return min(total, p * (1 - p) / variance) if variance else total
