"""Classifying texts: an encoder, a pool and a head."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from zoo.config.settings import Fraction
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.registry import Choice, Registry
from zoo.tasks.base import Estimator, Evaluation, Loaded, Task, TaskOptions, TaskSetup

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor, nn

    from zoo.data.batching.document_batches import Batch, Split
    from zoo.data.encoding.encoded_documents import EncodedDocuments, Truncation
    from zoo.models.text_classifier import TextClassifier
    from zoo.registry.cell import Cell
    from zoo.train.device import Runtime

EVALUATION_BATCH = 128
LATENCY_TEXTS = 10
MADE_UP_CLASSES = 5
# Conditions of baselines' rows.
CUT = "some texts are cut"
UNBALANCED = "the classes are unbalanced"
# How many times as frequent as the other classes on average the most frequent one is, from which
# on classes count as unbalanced: 60% of the texts of two classes, 27% of those of five.
UNBALANCED_RATIO = 1.5


class ClassifyOptions(TaskOptions):
    """Options of text classification."""

    data_fields = ("text_column", "label_column", "keep_duplicates")

    text_column: str = Field(
        default="text", description="Column of the texts, in files and Hub data."
    )
    label_column: str = Field(
        default="label", description="Column of the labels, in files and Hub data."
    )
    keep_duplicates: bool = Field(
        default=False, description="Train also on documents that are in the test split."
    )
    head_hidden: NonNegativeInt = Field(
        default=0, description="Width of the head's hidden layer; 0: none."
    )
    members: PositiveInt = Field(
        default=1, description="Models of a deep ensemble, whose probabilities are averaged."
    )
    token_dropout: Fraction = Field(
        default=0.0, description="Share of tokens replaced by the unknown token in training."
    )
    token_deletion: Fraction = Field(
        default=0.0, description="Share of tokens deleted from each text in training."
    )
    all_positions: bool = Field(
        default=False,
        description="Compute every position in the last layer, also those that the pool ignores.",
    )


class Classify(Task):
    """One class per text; the baselines are classifiers that are not transformers."""

    options = ClassifyOptions
    needs: ClassVar = {"attention": frozenset({"padding"})}
    metrics = ("accuracy", "macro_f1")
    baselines = ("texts", "tokens")
    model_name = "a classifier"
    commands = ("predict", "evaluate", "attend")

    def load(
        self, spec: str | None, options: ClassifyOptions, sizes: Sizes, registry: Registry
    ) -> Loaded:
        from zoo.data.encoding.encoded_documents import SPLITS, encode
        from zoo.data.sources.load_corpus import load_corpus, portable_spec

        corpus, notices = load_corpus(
            registry, spec, text_column=options.text_column, label_column=options.label_column
        )
        duplicates = corpus.duplicates
        if duplicates:
            action = "kept" if options.keep_duplicates else "dropped from training"
            notices = [
                *notices,
                f"{duplicates} of {len(corpus.test_texts)} test documents are also in the "
                f"training split: {action}",
            ]
            if not options.keep_duplicates:
                corpus = corpus.without_duplicates()
        encoded = encode(corpus, sizes.vocab_size, sizes.max_length)
        cut = {split: encoded.truncation(split) for split in SPLITS}
        counts = np.bincount(corpus.train_labels, minlength=len(corpus.label_names))
        about_cut = cut_remark(encoded, cut)
        about_classes = unbalanced_remark(counts, corpus.label_names)
        description = {
            "name": corpus.name,
            "fingerprint": corpus.fingerprint,
            "train": len(corpus.train_texts),
            "test": len(corpus.test_texts),
            "labels": corpus.label_names,
            "duplicates": duplicates,
            "vocab_size": encoded.vocab_size,
            "notes": corpus.notes,
            "class_counts": counts.tolist(),
            "cut": {
                split: {"texts": one.documents, "tokens": one.tokens} for split, one in cut.items()
            },
            "remarks": [remark for remark in (about_cut, about_classes) if remark],
        }
        return Loaded(
            encoded,
            description,
            portable_spec(registry, corpus.name),
            [*notices, *([about_classes] if about_classes else [])],
            frozenset(c for c, so in ((CUT, about_cut), (UNBALANCED, about_classes)) if so),
        )

    def baseline_rows(
        self, given: Sequence[Choice], registry: Registry
    ) -> list[tuple[Choice, str]]:
        """Each that reads texts also on whole ones, unless it says what it reads; ``majority``."""
        rows: list[tuple[Choice, str]] = []
        for choice in given:
            rows.append((choice, ""))
            if choice.can("texts") and not choice.can("constant") and "whole" not in choice.harness:
                rows.append((dataclasses.replace(choice, harness={"whole": True}), CUT))
        return [*rows, (registry.choose("baseline", "majority"), UNBALANCED)]

    def open(self, directory: Path) -> EncodedDocuments:
        from zoo.data.encoding.encoded_documents import EncodedDocuments

        return EncodedDocuments.open(directory)

    def build(self, setup: TaskSetup, cell: Cell, seed: int) -> nn.Module:
        from zoo.models.build import build_ensemble

        return build_ensemble(
            cell,
            setup.sizes,
            members=setup.options.members,
            seed=seed,
            vocab_size=setup.vocab_size,
            classes=len(setup.labels),
            head_hidden=setup.options.head_hidden,
            dropout=setup.training.dropout,
            attention_dropout=setup.training.attention_dropout,
            embedding_std=setup.training.embedding_std,
            all_positions=setup.options.all_positions,
        )

    def build_baseline(self, setup: TaskSetup, choice: Choice) -> Any:
        extra: dict[str, Any] = {}
        if choice.can("vocabulary"):
            extra["vocabulary"] = setup.data.vocabulary()
        if choice.can("head"):
            extra["head_hidden"] = setup.options.head_hidden
        return choice.build(
            vocab_size=setup.vocab_size,
            classes=len(setup.labels),
            sizes=setup.sizes,
            dropout=setup.training.dropout,
            **extra,
        )

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        if not choice.can("texts"):
            return None
        rows = self._validation_rows(setup) if setup.training.validation else None
        return TextEstimator(
            choice.build, setup.data, rows, whole=choice.harness.get("whole", False)
        )

    def training_split(self, setup: TaskSetup, device: torch.device) -> Split:
        from zoo.data.batching.document_batches import Split

        return Split(setup.data.split("train"), device)

    def splits(self, setup: TaskSetup, device: torch.device) -> tuple[Split, Split]:
        from zoo.data.batching.document_batches import Split

        train = self.training_split(setup, device)
        if not setup.training.validation:
            return train, Split(setup.data.split("test"), device)
        rows, held_out = self._validation_rows(setup)
        return train.subset(rows), train.subset(held_out)

    def _validation_rows(self, setup: TaskSetup) -> tuple[np.ndarray, np.ndarray]:
        corpus = setup.data.corpus()
        texts = None if setup.options.keep_duplicates else corpus.train_texts
        return validation_rows(np.array(corpus.train_labels), setup.training.validation, texts)

    def full_length_split(self, setup: TaskSetup, examples: int, device: torch.device) -> Split:
        from zoo.data.batching.document_batches import Split
        from zoo.data.encoding.encoded_documents import Documents

        draw, length = np.random.default_rng(0), setup.sizes.max_length
        documents = Documents(
            ids=draw.integers(1, setup.vocab_size, examples * length).astype(np.int32),
            offsets=np.arange(examples + 1, dtype=np.int64) * length,
            labels=draw.integers(0, len(setup.labels), examples),
        )
        return Split(documents, device)

    def loss(self, setup: TaskSetup, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Cross-entropy. Each member of an ensemble has token noise and a loss of its own."""
        import torch.nn.functional as F

        from zoo.components.tokens import Tokens
        from zoo.models.deep_ensemble import DeepEnsemble, mean_log_probability
        from zoo.train.token_noise import delete_tokens, hide_tokens

        members = len(model.members) if isinstance(model, DeepEnsemble) else 1
        mask = batch.tokens.attention_mask
        ids, mask = delete_tokens(
            batch.ids.repeat(members, 1),
            None if mask is None else mask.repeat(members, 1),
            setup.options.token_deletion,
        )
        tokens = Tokens(mask, batch.tokens.positions[: ids.shape[1]])
        ids = hide_tokens(ids, setup.options.token_dropout)
        extra = {"per_member": True} if isinstance(model, DeepEnsemble) else {}
        logits = model(ids, tokens, **extra)  # (members · B, classes)
        loss = F.cross_entropy(
            logits.float(),
            batch.labels.repeat(members),
            label_smoothing=setup.training.label_smoothing,
        )
        answers = mean_log_probability(logits.detach().unflatten(0, (members, -1)))
        return loss, (answers.argmax(dim=-1) == batch.labels).sum()

    def forward(self, model: nn.Module, batch: Batch) -> object:
        return model(batch.ids, batch.tokens)

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: Split, runtime: Runtime
    ) -> Evaluation:
        logits = predict_logits(model, split, EVALUATION_BATCH, runtime)
        return evaluation(logits.argmax(axis=1), split.labels.cpu().numpy(), len(setup.labels))

    def sample_scores(self, model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
        """Logits (texts, classes)."""
        from zoo.data.batching.document_batches import padded

        logits: Tensor = model(*padded(ids, next(model.parameters()).device))
        return logits

    def text_model(
        self, setup: TaskSetup, model: nn.Module, tokenizer: Tokenizer
    ) -> TextClassifier:
        from zoo.models.text_classifier import TextClassifier

        return TextClassifier(model, tokenizer, setup.sizes.max_length, setup.labels)


class TextEstimator(Estimator):
    """A baseline that fits raw texts; its tokens are counted with the zoo's tokenizer.

    rows: indices into the training split, to fit and to score; None: the splits as they are.
    whole: it reads whole texts; else each is cut at the end of the last token that a cell reads.
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        data: EncodedDocuments,
        rows: tuple[np.ndarray, np.ndarray] | None,
        *,
        whole: bool = False,
    ) -> None:
        self.factory, self.classes = factory, len(data.label_names)
        corpus = data.corpus()
        self.labels, self.scored_labels = corpus.train_labels, corpus.test_labels
        self.texts, fit_lengths = _texts_read(data, "train", corpus.train_texts, whole)
        self.scored_texts, scored_lengths = _texts_read(data, "test", corpus.test_texts, whole)
        if rows is not None:
            fit, scored = rows
            texts, labels = self.texts, self.labels
            self.texts, self.labels = [texts[i] for i in fit], [labels[i] for i in fit]
            self.scored_texts = [texts[i] for i in scored]
            self.scored_labels = [labels[i] for i in scored]
            fit_lengths, scored_lengths = fit_lengths[fit], fit_lengths[scored]
        self.train_tokens, self.scored_tokens = int(fit_lengths.sum()), int(scored_lengths.sum())

    def fit(self) -> None:
        self.model = self.factory()
        self.model.fit(self.texts, self.labels)

    def predict(self) -> None:
        self.model.predict(self.scored_texts)

    def single_predictions(self) -> Sequence[Callable[[], object]]:
        texts = self.scored_texts[:LATENCY_TEXTS]
        return [functools.partial(self.model.predict, [text]) for text in texts]

    def evaluate(self) -> Evaluation:
        predicted = np.array(self.model.predict(self.scored_texts))
        return evaluation(predicted, np.array(self.scored_labels), self.classes)


def _texts_read(
    data: EncodedDocuments, split: str, texts: list[str], whole: bool
) -> tuple[list[str], np.ndarray]:
    """The texts of a split, whole or cut as cells read them, and the tokens of each (texts)."""
    truncation = data.truncation(split)
    if whole:
        return texts, truncation.lengths
    cut = [text[:end] for text, end in zip(texts, truncation.ends, strict=True)]
    return cut, data.split(split).lengths


def cut_remark(data: EncodedDocuments, cut: Mapping[str, Truncation]) -> str:
    """How many texts are longer than what is read, in a sentence; empty where none is."""
    if not any(one.documents for one in cut.values()):
        return ""
    counts = " and ".join(
        f"{cut[split].documents:,} of {len(cut[split].lengths):,} {name}"
        for split, name in (("test", "test texts"), ("train", "training texts"))
    )
    total = sum(int(one.lengths.sum()) for one in cut.values())
    share = sum(one.tokens for one in cut.values()) / total
    return (
        f"{counts} are longer than {data.max_length} tokens. What follows, {share:.0%} of all "
        "tokens, is cut off: only baselines with whole=True read it."
    )


def unbalanced_remark(counts: np.ndarray, names: Sequence[str]) -> str:
    """That the classes of the training texts are unbalanced, in a sentence; else empty.

    counts: training texts of each class (classes).
    """
    present = counts[counts > 0]
    most, total = int(present.max()), int(present.sum())
    if most <= UNBALANCED_RATIO * (total - most) / (len(present) - 1):
        return ""
    return (
        f"Unbalanced classes: {most / total:.0%} of the training texts are "
        f"'{names[int(counts.argmax())]}', where an even share would be {1 / len(present):.0%}. "
        "Accuracy counts mostly the frequent classes; --metric macro_f1 counts all alike."
    )


def validation_rows(
    labels: np.ndarray, share: float, texts: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to hold out: stratified, the same for every cell and seed.

    texts: of the rows; a text that is also held out, word for word, is then not trained on.
    """
    from sklearn.model_selection import train_test_split

    from zoo.data.sources.corpus import plain_words

    fit, held_out = train_test_split(
        np.arange(len(labels)), test_size=share, random_state=0, stratify=np.asarray(labels)
    )
    if texts is not None:
        known = {plain_words(texts[row]) for row in held_out}
        fit = np.array([row for row in fit if plain_words(texts[row]) not in known], dtype=int)
        if not len(fit):
            raise ZooError(f"--validation {share}: every other document is also held out")
    return np.sort(fit), np.sort(held_out)


def predict_logits(model: nn.Module, split: Split, batch_size: int, runtime: Runtime) -> np.ndarray:
    """Logits (N, classes) of every document of a split, in the split's order, in float32."""
    import torch

    model.eval()
    rows, logits = [], []
    with torch.inference_mode():
        for batch in split.ordered(batch_size):
            with runtime.autocast():
                logits.append(model(batch.ids, batch.tokens).float())
            rows.append(batch.rows)
    result = np.empty((len(split), logits[0].shape[1]), dtype=np.float32)
    result[np.concatenate(rows)] = torch.cat(logits).cpu().numpy()
    return result


def evaluation(predicted: np.ndarray, labels: np.ndarray, classes: int) -> Evaluation:
    """The outputs of a classifier, with the confusion matrix (rows: true class) and each error.

    errors: [row of the split, true label, predicted label] of every wrong document.
    """
    from sklearn.metrics import confusion_matrix

    return Evaluation(
        {"predicted": predicted, "labels": labels, "classes": classes},
        {
            "examples": len(labels),
            "confusion": confusion_matrix(labels, predicted, labels=list(range(classes))).tolist(),
            "errors": [
                [int(row), int(labels[row]), int(predicted[row])]
                for row in np.flatnonzero(predicted != labels)
            ],
        },
    )
