"""Classifying texts: what a worker does."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.data.batching.document_batches import Batch, Split, padded
from zoo.data.encoding.encoded_documents import Encoded
from zoo.data.sources.corpus import plain_words
from zoo.errors import ZooError
from zoo.execution.base import Setting
from zoo.models.build import build_ensemble
from zoo.models.deep_ensemble import DeepEnsemble, together
from zoo.registry import Choice
from zoo.registry.cell import Cell
from zoo.tasks.learner import EVALUATION_BATCH, Fitting, Learner
from zoo.train.device import Runtime
from zoo.train.token_noise import delete_tokens, hide_tokens

SINGLES = 10


class ClassifierLearner(Learner):
    """See Learner. Items are documents."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.encoded = setting, Encoded.open(setting.data)
        self.classes = len(self.encoded.label_names)

    def build(self, cell: Cell, seed: int) -> nn.Module:
        """See Learner."""
        training = self.setting.training
        return build_ensemble(
            cell,
            self.setting.sizes,
            vocab_size=self.encoded.vocab_size,
            classes=self.classes,
            seed=seed,
            dropout=training.dropout,
            attention_dropout=training.attention_dropout,
            embedding_std=training.embedding_std,
            read_last=self.setting.read_last,
        )

    def build_baseline(self, choice: Choice) -> Any:
        """See Learner."""
        told = {"vocabulary": self.encoded.vocabulary()} if choice.can("vocabulary") else {}
        return choice.build(
            vocab_size=self.encoded.vocab_size,
            classes=self.classes,
            sizes=self.setting.sizes,
            dropout=self.setting.training.dropout,
            **told,
        )

    def fitting(self, choice: Choice, share: float) -> Fitting | None:
        """See Learner."""
        return (
            FittedTexts(choice.build, self.encoded, self._held_out(share) if share else None)
            if choice.can("texts")
            else None
        )

    def training_rows(self, runtime: Runtime) -> Split:
        """See Learner."""
        return Split(self.encoded.split("train"), runtime.device)

    def splits(self, runtime: Runtime, share: float) -> tuple[Split, Split]:
        """See Learner."""
        train = self.training_rows(runtime)
        if not share:
            return train, Split(self.encoded.split("test"), runtime.device)
        fit, held = self._held_out(share)
        return train.subset(fit), train.subset(held)

    def _held_out(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        corpus = self.encoded.corpus()
        texts = None if self.setting.keep_duplicates else corpus.train_texts
        return validation_rows(np.array(corpus.train_labels), share, texts)

    def loss(self, model: nn.Module, batch: Batch, training: Training) -> tuple[Tensor, Tensor]:
        """See Learner."""
        return classification_loss(model, batch, training)

    def run(self, model: nn.Module, batch: Batch) -> object:
        """See Learner."""
        return model(batch.ids, batch.tokens)

    def score(self, model: nn.Module, rows: Split, runtime: Runtime) -> dict[str, Any]:
        """See Learner."""
        scores = predict(model, rows, EVALUATION_BATCH, runtime)
        return score(scores.argmax(axis=1), rows.labels.cpu().numpy(), self.classes)

    def answers(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """See Learner."""
        return class_scores(model, ids)


class FittedTexts(Fitting):
    """A baseline that learns from raw texts; its tokens are counted as the zoo's tokenizer does.

    rows: of the training split, what it learns from and what it is scored on; None for the splits.
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        encoded: Encoded,
        rows: tuple[np.ndarray, np.ndarray] | None,
    ) -> None:
        self.factory, self.classes = factory, len(encoded.label_names)
        corpus = encoded.corpus()
        self.texts, self.labels = corpus.train_texts, corpus.train_labels
        self.held_texts, self.held_labels = corpus.test_texts, corpus.test_labels
        train = encoded.split("train").lengths
        held = encoded.split("test").lengths
        if rows is not None:
            fit, kept = rows
            texts, labels = self.texts, self.labels
            self.texts, self.labels = [texts[i] for i in fit], [labels[i] for i in fit]
            self.held_texts, self.held_labels = [texts[i] for i in kept], [labels[i] for i in kept]
            train, held = train[fit], train[kept]
        self.train_tokens, self.infer_tokens = int(train.sum()), int(held.sum())

    def fit(self) -> None:
        """See Fitting."""
        self.model = self.factory()
        self.model.fit(self.texts, self.labels)

    def infer(self) -> None:
        """See Fitting."""
        self.model.predict(self.held_texts)

    def singles(self) -> Sequence[Callable[[], object]]:
        """See Fitting."""
        return [functools.partial(self.model.predict, [text]) for text in self.held_texts[:SINGLES]]

    def score(self) -> dict[str, Any]:
        """See Fitting."""
        predicted = np.array(self.model.predict(self.held_texts))
        return score(predicted, np.array(self.held_labels), self.classes)


def validation_rows(
    labels: np.ndarray, share: float, texts: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows held out: stratified, and the same for every cell and seed.

    texts: of the rows; one that is also held out, word for word, is then not trained on.
    """
    from sklearn.model_selection import train_test_split

    fit, held = train_test_split(
        np.arange(len(labels)), test_size=share, random_state=0, stratify=np.asarray(labels)
    )
    if texts is not None:
        known = {plain_words(texts[row]) for row in held}
        fit = np.array([row for row in fit if plain_words(texts[row]) not in known], dtype=int)
        if not len(fit):
            raise ZooError(f"--validation {share}: every other document is also held out")
    return np.sort(fit), np.sort(held)


def classification_loss(
    model: nn.Module, batch: Batch, training: Training
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of a batch: mean loss, and how many documents the model had right.

    Of a committee: the mean of its members' losses, each from noise of its own, and what they had
    right together. To the optimizer, and to the clipping of gradients, it is one model.
    """
    apart = {"apart": True} if isinstance(model, DeepEnsemble) else {}
    members = len(model.members) if isinstance(model, DeepEnsemble) else 1
    attention_mask = batch.tokens.attention_mask
    ids, attention_mask = delete_tokens(
        batch.ids.repeat(members, 1),
        None if attention_mask is None else attention_mask.repeat(members, 1),
        training.token_deletion,
    )
    tokens = Tokens(attention_mask, batch.tokens.positions[: ids.shape[1]])
    ids = hide_tokens(ids, training.token_dropout)
    logits = model(ids, tokens, **apart)  # (members · B, classes)
    loss = F.cross_entropy(
        logits.float(), batch.labels.repeat(members), label_smoothing=training.label_smoothing
    )
    answers = together(logits.detach().unflatten(0, (members, -1)))
    return loss, (answers.argmax(dim=-1) == batch.labels).sum()


def class_scores(model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
    """Scores (texts, classes) of token ids."""
    logits: Tensor = model(*padded(ids, next(model.parameters()).device))
    return logits


@torch.inference_mode()
def predict(model: nn.Module, split: Split, batch_size: int, runtime: Runtime) -> np.ndarray:
    """Class scores (N, classes) of every document of a split, in its own order, in float32."""
    model.eval()
    rows, scores = [], []
    for batch in split.ordered(batch_size):
        with runtime.autocast():
            scores.append(model(batch.ids, batch.tokens).float())
        rows.append(batch.rows)
    result = np.empty((len(split), scores[0].shape[1]), dtype=np.float32)
    result[np.concatenate(rows)] = torch.cat(scores).cpu().numpy()
    return result


def score(predicted: np.ndarray, labels: np.ndarray, classes: int) -> dict[str, Any]:
    """Accuracy, macro F1, the confusion matrix (rows: truth), and each error.

    errors: (row of the split, true label, predicted label) of every document that went wrong,
    from which the rest follows, and two cells can be compared document by document.
    """
    from sklearn.metrics import confusion_matrix, f1_score

    every = list(range(classes))
    return {
        "accuracy": float((predicted == labels).mean()),
        "f1": float(f1_score(labels, predicted, labels=every, average="macro", zero_division=0)),
        "confusion": confusion_matrix(labels, predicted, labels=every).tolist(),
        "errors": [
            [int(row), int(labels[row]), int(predicted[row])]
            for row in np.flatnonzero(predicted != labels)
        ],
    }
