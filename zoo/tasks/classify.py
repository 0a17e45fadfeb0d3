"""Classifying texts: an encoder, a pool and a head."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from zoo.config.reading import LabelColumn, Reading, TextColumn
from zoo.config.settings import Fraction
from zoo.data.sources.load_data import load_corpus
from zoo.data.sources.row_reader import LabelledTexts
from zoo.errors import ZooError, listed
from zoo.registry import Choice, Registry
from zoo.registry.declarations import part
from zoo.tasks.base import Evaluation, Loaded, TaskSetup
from zoo.tasks.encoder_task import EncoderOptions, EncoderTask, Read, by_group

if TYPE_CHECKING:
    from torch import Tensor, nn

    from zoo.data.batches import Batch
    from zoo.data.sources.corpus import Corpus

CUT = "some texts are cut"  # the condition of baselines' rows that read whole texts
NUMBER = r"\d+(\.\d+)?(e[-+]?\d+)?"


def _class_weight(value: str) -> str:
    if not re.fullmatch(f"({NUMBER}(,{NUMBER})*)?", value):
        raise PydanticCustomError("weights", "expected a number for each class, as 1,0.5,2")
    return value


ClassWeight = Annotated[str, AfterValidator(_class_weight)]


class ClassifyOptions(EncoderOptions, Reading):
    """Options of text classification."""

    text_column: TextColumn = "text"
    label_column: LabelColumn = "label"
    token_deletion: Fraction = Field(
        default=0.0, description="Share of tokens deleted from each text in training."
    )
    class_weight: ClassWeight = Field(
        default="",
        description="Weights of the classes in the loss, a comma list in the order of their names; "
        "by default all are alike.",
    )


@part("task", "classify", source="Devlin et al. 2019, section 4.1")
class Classify(EncoderTask):
    """One of several classes for a text: encoder, pool and head.

    The baselines are classifiers that are not transformers.
    """

    options = ClassifyOptions
    reads = ("text-labels",)
    reads_rows = LabelledTexts
    # Chosen together on held-out texts: results/recipe/README.md.
    defaults: ClassVar = {
        "max_length": 128,
        "ffn_dim": 128,
        "epochs": 3,
        "batch_size": 8,
        "lr": 5e-3,
        "label_smoothing": 0.1,
    }
    metrics = ("accuracy", "macro_f1")
    baselines = ("texts", "tokens")
    builder = "zoo.models.build:build_classifier"
    text_model_class = "zoo.models.text_model:TextClassifier"
    model_name = "a classifier"
    pipeline_tag = "text-classification"

    def read(
        self, spec: str | None, options: ClassifyOptions, registry: Registry
    ) -> tuple[Corpus, list[str]]:
        return load_corpus(registry, spec, self.reader(options))

    def with_remarks(self, data_set: Loaded, options: ClassifyOptions) -> Loaded:
        """With how much is cut off."""
        data, about = data_set.encoded, data_set.description
        train, test = data.split("train"), data.split("test")
        trained = data.trained_labels
        weights = options.class_weight.split(",") if options.class_weight else trained
        if len(weights) != len(trained):
            names = f"{len(trained)} classes, {listed(trained, 5)}"
            raise ZooError(f"--class-weight has {len(weights)} numbers, and there are {names}")
        whole = sum(int(arrays.columns["whole"].sum()) for arrays in (train, test))
        cut = 1 - (len(train.ids) + len(test.ids)) / whole
        if cut:
            about["remarks"].append(
                f"{cut:.0%} of all tokens are beyond the first {data.max_length} of their text and "
                "cut off: only baselines with whole=True read them."
            )
        return dataclasses.replace(data_set, conditions=frozenset({CUT} if cut else ()))

    def baseline_rows(self, asked_for: Sequence[Choice]) -> list[tuple[Choice, str]]:
        """Each baseline that reads texts also on whole ones, unless it says what it reads."""
        rows: list[tuple[Choice, str]] = []
        for choice in asked_for:
            rows.append((choice, ""))
            if (
                choice.can("texts")
                and not choice.can("constant")
                and "whole" not in choice.parameters
            ):
                whole = {**choice.parameters, "whole": True}
                rows.append((dataclasses.replace(choice, parameters=whole), CUT))
        return rows

    def model_options(self, setup: TaskSetup) -> dict[str, Any]:
        return {"classes": len(setup.labels), "head_hidden": setup.options.head_hidden}

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
        if not choice.parameters.get("whole"):
            ends = setup.data.split(split).columns["ends"]
            texts = [text[:end] for text, end in zip(texts, ends, strict=True)]
        return texts, targets

    def score(self, setup: TaskSetup, predicted: Any, targets: Any) -> Evaluation:
        groups = self.scored_groups(setup)
        classes = len(setup.scored_labels)
        return class_evaluation(np.array(predicted), np.array(targets), classes, groups)

    def loss(self, setup: TaskSetup, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of each text, of which ``token_deletion`` leaves out a share."""
        from zoo.data.batches import moved
        from zoo.tasks.passes import delete_tokens, token_loss

        share = setup.options.token_deletion
        ids, mask = delete_tokens(batch.ids, batch.tokens.attention_mask, share)
        tokens = dataclasses.replace(batch.tokens[: ids.shape[1]], attention_mask=mask)
        logits = model(ids, tokens)
        smoothing, weights = setup.training.label_smoothing, setup.options.class_weight
        numbers = np.array([*map(float, weights.split(","))], dtype=np.float32) if weights else None
        weight = None if numbers is None else moved(numbers, logits.device)
        return token_loss(logits, batch.targets, batch.items, smoothing, weight=weight)


def class_evaluation(
    predicted: np.ndarray, labels: np.ndarray, classes: int, groups: Sequence[str] = ()
) -> Evaluation:
    """The outputs of a classifier, with the confusion matrix (rows: true class) and each error.

    errors: [row of the split, true label, predicted label] of every wrong document. groups: the
    group of every document.
    """
    from sklearn.metrics import confusion_matrix

    wrong = np.flatnonzero(predicted != labels)
    details = {
        "examples": len(labels),
        "confusion": confusion_matrix(labels, predicted, labels=list(range(classes))).tolist(),
        "errors": np.stack([wrong, labels[wrong], predicted[wrong]], axis=1).tolist(),
    }

    def outputs(rows: np.ndarray) -> dict[str, Any]:
        own = {"predicted": predicted[rows], "labels": labels[rows]}
        return {**own, "classes": classes, "examples": len(rows)}

    parts = {group: outputs(rows) for group, rows in by_group(groups).items()}
    return Evaluation(outputs(np.arange(len(labels))), details, parts)
