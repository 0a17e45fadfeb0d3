"""Tagging: a tag for every token of a text, from an encoder and a head at every position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from zoo.data.sources.corpus import IGNORED
from zoo.data.sources.row_reader import TaggedTexts
from zoo.errors import ZooError
from zoo.registry import BUILT_IN, Choice
from zoo.registry.declarations import part
from zoo.tasks.base import Evaluation, Loaded, TaskSetup
from zoo.tasks.encoder_task import EncoderOptions, EncoderTask, Read, by_group

DEFAULT_DATA = f"{BUILT_IN}:recall"  # whatever is called recall here


class TagOptions(EncoderOptions):
    """Options of tagging."""

    tokens_column: str = Field(
        default="tokens",
        description="Column of the lists of tokens, in files and Hub data; in a CoNLL file its "
        "number, the first by default.",
    )
    tags_column: str = Field(
        default="tags",
        description="Column of the lists of tags, in files and Hub data; in a CoNLL file its "
        "number, the last by default.",
    )
    causal: bool = Field(
        default=False, description="Let a token see only itself and those before it."
    )


@part("task", "tag", source="Devlin et al. 2019, section 5.3")
class Tag(EncoderTask):
    """One of several tags for every token of a text: encoder and head.

    Tags that are -100 are neither trained on nor scored.
    """

    options = TagOptions
    column = "tags"
    default_data = DEFAULT_DATA
    reads = ("token-labels",)
    reads_rows = TaggedTexts
    metrics = ("token_accuracy", "macro_f1", "span_f1")
    baselines = ("token-texts",)
    defaults: ClassVar = {"baseline": "window-logreg"}
    unused: ClassVar = {"pool": "every token has a tag, none is pooled"}
    builder = "zoo.models.build:build_tagger"
    text_model_class = "zoo.models.text_model:TextTagger"
    model_name = "a tagger"
    pipeline_tag = "token-classification"

    def needs_of(self, options: TagOptions) -> Mapping[str, frozenset[str]]:
        causal = {"causal"} if options.causal else set()
        return {**self.needs, "attention": self.needs["attention"] | causal}

    def no_pretraining(self, options: TagOptions) -> str | None:
        if not options.causal:
            return None
        return (
            "the stage reads the tokens on both sides, and with --causal no token sees later ones"
        )

    def with_remarks(self, data_set: Loaded, options: TagOptions) -> Loaded:
        """With how many tags are beyond ``max_length``; ZooError where all of a split are."""
        data, about = data_set.encoded, data_set.description
        splits = {split: data.split(split) for split in data.splits}
        for name, split in splits.items():
            if (split.columns["tags"] == IGNORED).all():
                raise ZooError(
                    f"--max-length {data.max_length}: every tag of {name} in {about['name']} is "
                    "beyond so many word pieces"
                )
        scored = int((splits["test"].columns["tags"] != IGNORED).sum())
        about["summary"] = (
            f"{about['train']:,} training and {about['test']:,} test texts, {scored:,} test tokens "
            "with a tag"
        )
        train, test = (int(splits[name].columns["cut"].sum()) for name in ("train", "test"))
        if train + test:
            about["remarks"].append(
                f"{train:,} tags of train and {test:,} of test are beyond the {data.max_length} "
                "word pieces of --max-length: not scored."
            )
        return data_set

    def model_options(self, setup: TaskSetup) -> dict[str, Any]:
        options = setup.options
        head = {"tags": len(setup.labels), "head_hidden": options.head_hidden}
        return {**head, "causal": options.causal}

    def texts_of_baseline(
        self, setup: TaskSetup, choice: Choice, split: str, texts: list[Any], targets: list[Any]
    ) -> Read:
        """The tokens that cells read, and their tags."""
        counts = setup.data.split(split).columns["tokens"]
        tokens = [each[:count] for each, count in zip(texts, counts, strict=True)]
        return tokens, [each[:count] for each, count in zip(targets, counts, strict=True)]

    def score(self, setup: TaskSetup, predicted: Any, targets: Any) -> Evaluation:
        answered, true = list[np.ndarray](), list[np.ndarray]()
        for answers, tags in zip(predicted, map(np.array, targets), strict=True):
            scored = tags != IGNORED
            answered.append(np.array(answers)[scored])
            true.append(tags[scored])
        return tag_evaluation(answered, true, setup.scored_labels, self.scored_groups(setup))


def tag_evaluation(
    predicted: Sequence[np.ndarray],
    tags: Sequence[np.ndarray],
    names: Sequence[str],
    groups: Sequence[str] = (),
) -> Evaluation:
    """The outputs of a tagger, with the confusion matrix (rows: true tag).

    predicted, tags: int (scored tokens) of every text. groups: the group of every text; one without
    a scored token is left out.
    """
    from sklearn.metrics import confusion_matrix

    def outputs(rows: np.ndarray) -> dict[str, Any]:
        answers = np.concatenate([predicted[row] for row in rows]).astype(np.int64)
        labels = np.concatenate([tags[row] for row in rows]).astype(np.int64)
        return {
            "predicted": answers,
            "labels": labels,
            "classes": len(names),
            "names": list(names),
            "lengths": [len(tags[row]) for row in rows],
            "right_tokens": int((answers == labels).sum()),
            "tokens": len(labels),
            "examples": len(labels),
        }

    whole = outputs(np.arange(len(tags)))
    parts = {group: outputs(rows) for group, rows in by_group(groups).items()}
    matrix = confusion_matrix(whole["labels"], whole["predicted"], labels=list(range(len(names))))
    right = [int((answers == true).sum()) for answers, true in zip(predicted, tags, strict=True)]
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
