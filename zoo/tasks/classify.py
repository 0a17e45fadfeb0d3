"""Classifying texts: an encoder, a pool and a head."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from zoo.config.reading import Division, Reading, part_of
from zoo.config.settings import Fraction
from zoo.config.sizes import Sizes
from zoo.data.sources.splits import ScoringNotice
from zoo.registry import Choice, Registry
from zoo.tasks.base import Estimator, Evaluation, Loaded, TaskSetup
from zoo.tasks.data_remarks import (
    CUT,
    UNBALANCED,
    cut_remark,
    reading_remark,
    unbalanced_remark,
)
from zoo.tasks.encoder_task import EVALUATION_BATCH, EncoderOptions, EncoderTask, Rows, apart
from zoo.tasks.text_estimator import TextEstimator, evaluation

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor, nn

    from zoo.data.batching.document_batches import Batch, Split
    from zoo.data.encoding.encoded_documents import EncodedDocuments
    from zoo.data.sources.corpus import Corpus
    from zoo.data.sources.labelled_texts import LabelledTexts
    from zoo.models.text_classifier import TextClassifier
    from zoo.registry.cell import Cell
    from zoo.training.device import Runtime


class ClassifyOptions(EncoderOptions, Reading):
    """Options of text classification."""

    data_fields = (
        *("text_column", "label_column", "min_class"),
        *EncoderOptions.data_fields,
        *(name for name in Reading.model_fields if name not in EncoderOptions.data_fields),
    )

    text_column: str = Field(
        default="text",
        description="Column of the texts; in files and Hub data. Of several, as in title,body, the "
        "texts are joined.",
    )
    label_column: str = Field(
        default="label", description="Column of the labels; in files and Hub data."
    )
    min_class: NonNegativeInt = Field(
        default=0,
        description="Leave out classes with fewer training texts than this, and say which.",
    )
    ensemble: PositiveInt = Field(
        default=1, description="Models of a deep ensemble, whose probabilities are averaged."
    )
    token_deletion: Fraction = Field(
        default=0.0, description="Share of tokens deleted from each text in training."
    )
    all_positions: bool = Field(
        default=False,
        description="Compute every position in the last layer, also those that the pool ignores.",
    )


class Classify(EncoderTask):
    """One class per text; the baselines are classifiers that are not transformers."""

    options = ClassifyOptions
    reads = ("text-labels",)
    metrics = ("accuracy", "macro_f1")
    baselines = ("texts", "tokens")
    model_name = "a classifier"
    pipeline_tag = "text-classification"

    def read(
        self, spec: str | None, options: ClassifyOptions, registry: Registry
    ) -> tuple[Corpus, list[str]]:
        from zoo.data.sources.load_data import load_corpus

        return load_corpus(registry, spec, self.reader(options))

    def reader(self, options: ClassifyOptions) -> LabelledTexts:
        from zoo.data.sources.labelled_texts import LabelledTexts

        return LabelledTexts(
            options.text_column,
            options.label_column,
            options.min_class,
            group_column=options.group_column,
            reading=part_of(Reading, options),
            division=part_of(Division, options),
        )

    def encode(
        self, corpus: Corpus, sizes: Sizes, tokenizer: Path | None = None
    ) -> EncodedDocuments:
        from zoo.data.encoding.encoded_documents import encode

        return encode(corpus, sizes.vocab_size, sizes.max_length, tokenizer)

    def load(
        self,
        spec: str | None,
        options: ClassifyOptions,
        sizes: Sizes,
        registry: Registry,
        tokenizer: Path | None = None,
    ) -> Loaded:
        """As for every labelled text, with what is cut off, and how often each class is there."""
        from zoo.data.encoding.encoded_documents import SPLITS

        loaded = super().load(spec, options, sizes, registry, tokenizer)
        data: EncodedDocuments = loaded.encoded  # type: ignore[assignment]
        cut = {split: data.truncation(split) for split in SPLITS}
        counts = np.bincount(data.split("train").labels, minlength=len(data.label_names))
        about_cut = cut_remark(data, cut)
        about_classes = unbalanced_remark(counts, data.label_names)
        notes = loaded.description["notes"]
        description = {
            **loaded.description,
            "class_counts": counts.tolist(),
            "cut": {
                split: {"texts": one.documents, "tokens": one.tokens} for split, one in cut.items()
            },
            "remarks": [r for r in (about_cut, about_classes, reading_remark(notes)) if r],
        }
        return dataclasses.replace(
            loaded,
            description=description,
            notices=[*loaded.notices, *([ScoringNotice(about_classes)] if about_classes else [])],
            conditions=frozenset(
                c for c, so in ((CUT, about_cut), (UNBALANCED, about_classes)) if so
            ),
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
            members=setup.options.ensemble,
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

    def fits_itself(self, baseline: Any) -> bool:
        return bool(baseline.can("texts"))

    def estimator(self, setup: TaskSetup, choice: Choice) -> Estimator | None:
        if not self.fits_itself(choice):
            return None
        scored, groups = self.scored(setup), self.scored_groups(setup)
        whole = choice.harness.get("whole", False)
        return TextEstimator(choice.build, setup.data, scored, groups, whole=whole)

    def split(self, setup: TaskSetup, name: str, device: torch.device) -> Split:
        from zoo.data.batching.document_batches import Split

        return Split(setup.data.split(name), device)

    def all_examples(self, setup: TaskSetup, device: torch.device) -> Split:
        from zoo.data.batching.document_batches import Split
        from zoo.data.encoding.encoded_documents import joined

        return Split(joined([setup.data.split(name) for name in self.all_splits(setup)]), device)

    def validation_rows(self, setup: TaskSetup) -> Rows:
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
        from zoo.training.token_noise import delete_tokens, hide_tokens

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

    def evaluate(
        self, setup: TaskSetup, model: nn.Module, split: Split, runtime: Runtime
    ) -> Evaluation:
        logits = predict_logits(model, split, EVALUATION_BATCH, runtime)
        labels, groups = split.labels.cpu().numpy(), self.scored_groups(setup)
        return evaluation(logits.argmax(axis=1), labels, len(setup.labels), groups)

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
    return apart(fit, held_out, texts, share)


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
