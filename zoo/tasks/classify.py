"""Classifying texts: an encoder, a pool and a head."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from zoo.config.reading import LabelColumn, Reading, TextColumn, part_of
from zoo.config.settings import Fraction
from zoo.data.sources.load_data import load_corpus
from zoo.data.sources.row_reader import LabelledTexts, ScoringNotice
from zoo.registry import Choice, Registry
from zoo.registry.declarations import part
from zoo.tasks.base import Evaluation, Loaded, TaskSetup
from zoo.tasks.encoder_task import (
    EVALUATION_BATCH,
    EncoderOptions,
    EncoderTask,
    Read,
    Rows,
    by_group,
    without_copies,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

    from zoo.data.batches import Batch, PaddedSplit
    from zoo.data.sources.corpus import Corpus
    from zoo.data.token_arrays import EncodedData
    from zoo.training.device import Runtime

# Conditions of baselines' rows.
CUT = "some texts are cut"
UNBALANCED = "the classes are unbalanced"
# How many times as frequent as the other classes on average the most frequent one is, from which
# on classes count as unbalanced: 60% of the texts of two classes, 27% of those of five.
UNBALANCED_RATIO = 1.5


class ClassifyOptions(EncoderOptions, Reading):
    """Options of text classification."""

    data_fields = (
        *("text_column", "label_column"),
        *EncoderOptions.data_fields,
        *(name for name in Reading.model_fields if name not in EncoderOptions.data_fields),
    )

    text_column: TextColumn = "text"
    label_column: LabelColumn = "label"
    token_deletion: Fraction = Field(
        default=0.0, description="Share of tokens deleted from each text in training."
    )
    all_positions: bool = Field(
        default=False,
        description="Compute every position in the last layer, also those that the pool ignores.",
    )


@part("task", "classify", source="Devlin et al. 2019, section 4.1")
class Classify(EncoderTask):
    """One of several classes for a text: encoder, pool and head.

    The baselines are classifiers that are not transformers.
    """

    options = ClassifyOptions
    reads = ("text-labels",)
    # Chosen together on held-out texts: results/recipe/README.md.
    defaults: ClassVar = {"epochs": 2, "batch_size": 8, "lr": 5e-3}
    metrics = ("accuracy", "macro_f1")
    baselines = ("texts", "tokens")
    estimators = ("texts",)
    builder = "zoo.models.build:build_classifier"
    text_model_class = "zoo.models.text_model:TextClassifier"
    model_name = "a classifier"
    pipeline_tag = "text-classification"

    def read(
        self, spec: str | None, options: ClassifyOptions, registry: Registry
    ) -> tuple[Corpus, list[str]]:
        return load_corpus(registry, spec, self.reader(options))

    def reader(self, options: ClassifyOptions) -> LabelledTexts:
        return part_of(LabelledTexts, options)

    def with_remarks(self, data_set: Loaded, options: ClassifyOptions) -> Loaded:
        """With what is cut off, and how often each class is there."""
        data = data_set.encoded
        counts = np.bincount(data.split("train").columns["labels"], minlength=len(data.label_names))
        cut = {split: cut_off(data, split) for split in ("train", "test")}
        about_cut = cut_remark(data, cut)
        about_classes = unbalanced_remark(counts, data.label_names)
        left_out = data_set.description["notes"].get("reading", "")
        about_reading = f"Reading the data: {left_out}." if left_out else ""
        conditions = {CUT: about_cut, UNBALANCED: about_classes}
        return dataclasses.replace(
            data_set,
            description={
                **data_set.description,
                "class_counts": counts.tolist(),
                "cut": cut,
                "remarks": [r for r in (about_cut, about_classes, about_reading) if r],
            },
            notices=[*data_set.notices, *([ScoringNotice(about_classes)] if about_classes else [])],
            conditions=frozenset(name for name, remark in conditions.items() if remark),
        )

    def baseline_rows(
        self, asked_for: Sequence[Choice], registry: Registry
    ) -> list[tuple[Choice, str]]:
        """Each that reads texts also on whole ones, unless it says what it reads; ``majority``."""
        rows: list[tuple[Choice, str]] = []
        for choice in asked_for:
            rows.append((choice, ""))
            if choice.can("texts") and not choice.can("constant") and "whole" not in choice.harness:
                rows.append((dataclasses.replace(choice, harness={"whole": True}), CUT))
        return [*rows, (registry.choose("baseline", "majority"), UNBALANCED)]

    def model_options(self, setup: TaskSetup) -> dict[str, Any]:
        return {
            "classes": len(setup.labels),
            "head_hidden": setup.options.head_hidden,
            "all_positions": setup.options.all_positions,
        }

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

    def texts_of_baseline(
        self, setup: TaskSetup, choice: Choice, split: str, texts: list[str], targets: list[int]
    ) -> Read:
        """Texts as cells read them, up to the end of the last token; whole with ``whole``."""
        arrays = setup.data.split(split)
        if choice.harness.get("whole", False):
            return texts, targets, arrays.columns["whole"]
        ends = arrays.columns["ends"]
        cut = [text[:end] for text, end in zip(texts, ends, strict=True)]
        return cut, targets, arrays.lengths

    def score(self, setup: TaskSetup, predicted: Any, targets: list[int]) -> Evaluation:
        groups = self.scored_groups(setup)
        return class_evaluation(np.array(predicted), np.array(targets), len(setup.labels), groups)

    def validation_rows(self, setup: TaskSetup) -> Rows:
        corpus = setup.data.corpus()
        texts = None if setup.options.keep_duplicates else corpus.train.texts
        return validation_rows(np.array(corpus.train.targets), setup.training.validation, texts)

    def loss(self, setup: TaskSetup, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of each text, of which ``token_deletion`` leaves out a share."""
        from zoo.components.tokens import Tokens
        from zoo.tasks.passes import token_loss
        from zoo.training.token_noise import delete_tokens

        ids, mask = delete_tokens(
            batch.ids, batch.tokens.attention_mask, setup.options.token_deletion
        )
        tokens = Tokens(mask, batch.tokens.positions[: ids.shape[1]])
        return token_loss(model(ids, tokens), batch.targets, setup.training.label_smoothing)

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: PaddedSplit, runtime: Runtime
    ) -> Evaluation:
        logits = predict_logits(model, split, EVALUATION_BATCH, runtime)
        assert split.targets is not None
        labels, groups = split.targets.cpu().numpy(), self.scored_groups(setup)
        return class_evaluation(logits.argmax(axis=1), labels, len(setup.labels), groups)


def validation_rows(labels: np.ndarray, share: float, texts: Sequence[str] | None = None) -> Rows:
    """Rows to train on and rows to hold out: stratified, the same for every cell and seed.

    texts: of the rows; a text that is also held out, word for word, is then not trained on.
    """
    from sklearn.model_selection import train_test_split

    fit, held_out = train_test_split(
        np.arange(len(labels)), test_size=share, random_state=0, stratify=np.asarray(labels)
    )
    if texts is None:
        return np.sort(fit), np.sort(held_out)
    return without_copies(fit, held_out, texts, share)


def predict_logits(
    model: nn.Module, split: PaddedSplit, batch_size: int, runtime: Runtime
) -> np.ndarray:
    """Logits (N, classes) of every document of a split, in the split's order, in float32."""
    import torch

    from zoo.tasks.passes import scored_passes

    rows, logits = list[np.ndarray](), list[Any]()
    for batch, output in scored_passes(model, split, batch_size, runtime):
        rows.append(batch.rows)
        logits.append(output.float())
    ordered: np.ndarray = torch.cat(logits).cpu().numpy()[np.argsort(np.concatenate(rows))]
    return ordered


def class_evaluation(
    predicted: np.ndarray, labels: np.ndarray, classes: int, groups: Sequence[str] = ()
) -> Evaluation:
    """The outputs of a classifier, with the confusion matrix (rows: true class) and each error.

    errors: [row of the split, true label, predicted label] of every wrong document. groups: the
    group of every document; F1 of a group is over the classes that occur in it.
    """
    from sklearn.metrics import confusion_matrix

    details = {
        "examples": len(labels),
        "confusion": confusion_matrix(labels, predicted, labels=list(range(classes))).tolist(),
        "errors": [
            [int(row), int(labels[row]), int(predicted[row])]
            for row in np.flatnonzero(predicted != labels)
        ],
    }

    def part(rows: np.ndarray) -> dict[str, Any]:
        return {
            "predicted": predicted[rows],
            "labels": labels[rows],
            "classes": classes,
            "present": np.unique(labels[rows]).tolist(),
            "examples": len(rows),
        }

    whole = {"predicted": predicted, "labels": labels, "classes": classes}
    parts = {group: part(rows) for group, rows in by_group(groups).items()}
    return Evaluation(whole, details, parts)


def cut_off(data: EncodedData, split: str) -> dict[str, int]:
    """How many texts of a split are cut, and how many tokens of all of them are cut off."""
    arrays = data.split(split)
    beyond = arrays.columns["whole"] - arrays.lengths
    return {"texts": int((beyond > 0).sum()), "tokens": int(beyond.sum())}


def cut_remark(data: EncodedData, cut: Mapping[str, Mapping[str, int]]) -> str:
    """How many texts are longer than what is read, in a sentence; empty where none is."""
    if not any(counts["texts"] for counts in cut.values()):
        return ""
    whole = {split: data.split(split).columns["whole"] for split in cut}
    lengths = " and ".join(
        f"{cut[split]['texts']:,} of {len(whole[split]):,} {name}"
        for split, name in (("test", "test texts"), ("train", "training texts"))
    )
    total = sum(int(tokens.sum()) for tokens in whole.values())
    share = sum(counts["tokens"] for counts in cut.values()) / total
    return (
        f"{lengths} are longer than {data.max_length} tokens. What follows, {share:.0%} of all "
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
