"""Baselines that predict masked tokens, and how such predictions are evaluated."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zoo.errors import ZooError
from zoo.registry import Choice
from zoo.tasks.base import Estimator, Evaluation
from zoo.tasks.encoder_task import LATENCY_TEXTS
from zoo.tasks.tag_estimator import effective_examples

if TYPE_CHECKING:
    from zoo.data.batching.masked_batches import MaskedSplit
    from zoo.data.encoding.encoded_documents import Documents
    from zoo.data.encoding.encoded_texts import Vocabulary


def masked_evaluation(
    nats: npt.NDArray[np.float64],
    right: npt.NDArray[np.bool_],
    targets: npt.NDArray[np.int64],
    texts: npt.NDArray[np.int64],
    pieces: Vocabulary,
) -> Evaluation:
    """The outputs of a model: -ln P of every masked token, whether the likeliest one is right.

    targets: the tokens; texts: the number of the text of each.
    """
    if not len(nats):
        raise ZooError("no token of the held-out texts is masked: give more text or more --masked")
    total, size = math.fsum(nats), int(pieces.bytes[targets].sum())
    scored = np.bincount(texts)
    details: dict[str, Any] = {
        "examples": len(nats),
        "perplexity": math.exp(min(total / len(nats), 700.0)),
        "tokens": len(nats),
        "bytes": size,
        "texts": int((scored > 0).sum()),
        "effective_examples": {
            "token_accuracy": effective_examples(
                np.bincount(texts, weights=right).tolist(), scored.tolist()
            )
        },
    }
    outputs = {"nats": total, "tokens": len(nats), "bytes": size, "right_tokens": int(right.sum())}
    return Evaluation(outputs, details)


class MaskedEstimator(Estimator):
    """A model of masked tokens that is not a transformer; it sees the masks that the cells see."""

    def __init__(self, choice: Choice, train: MaskedSplit, scored: MaskedSplit) -> None:
        self.scored = scored
        self.factory = functools.partial(choice.build, vocab_size=len(scored.vocabulary.bytes))
        self.texts = _texts(train.documents, train.documents.ids)
        self.windows = [
            (text, np.flatnonzero(chosen))
            for text, chosen in zip(
                _texts(scored.documents, scored.hidden),
                np.split(scored.chosen, scored.documents.offsets[1:-1]),
                strict=True,
            )
        ]
        self.train_tokens, self.scored_tokens = len(train.documents.ids), len(scored.documents.ids)

    def fit(self) -> None:
        self.model = self.factory()
        self.model.fit(self.texts)

    def predict(self) -> None:
        for window in self.windows:
            self.model.log_probabilities(*window)

    def single_predictions(self) -> Sequence[Callable[[], object]]:
        return [
            functools.partial(self.model.log_probabilities, *window)
            for window in self.windows[:LATENCY_TEXTS]
        ]

    def evaluate(self) -> Evaluation:
        ids, chosen = np.asarray(self.scored.documents.ids), self.scored.chosen
        targets, nats, right = ids[chosen].astype(np.int64), list[float](), list[bool]()
        rest = iter(targets.tolist())
        for text, places in self.windows:
            for found in self.model.log_probabilities(text, places):
                target = next(rest)
                nats.append(-float(found[target]))
                right.append(int(found.argmax()) == target)
        texts = np.repeat(self.scored.documents.labels, [len(p) for _, p in self.windows])
        arrays = np.array(nats), np.array(right, dtype=bool)
        return masked_evaluation(*arrays, targets, texts, self.scored.vocabulary)


def _texts(windows: Documents, ids: npt.NDArray[np.int32]) -> list[npt.NDArray[np.int64]]:
    return [part.astype(np.int64) for part in np.split(ids, windows.offsets[1:-1])]
