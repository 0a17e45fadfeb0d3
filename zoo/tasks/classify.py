"""Classifying texts. No torch here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from zoo.data.encoding.encoded_documents import Encoded, encode
from zoo.data.sources.load_corpus import load_corpus
from zoo.tasks.base import Task

if TYPE_CHECKING:
    from zoo.config.request import Request
    from zoo.execution.base import Setting
    from zoo.registry import Registry
    from zoo.tasks.learner import Learner


class Classify(Task):
    """An encoder, a pool and a head; beside it a whole classifier that is no transformer."""

    name = "classify"
    model = "a classifier"
    scored_on = "documents"
    ignored: ClassVar[dict[str, Any]] = {"beam": "a classifier writes nothing"}
    baselines = ("texts", "tokens")

    def prepare(
        self, request: Request, registry: Registry
    ) -> tuple[Encoded, dict[str, Any], list[str]]:
        """See Task."""
        corpus, notices = load_corpus(
            registry,
            request.data,
            text_column=request.text_column,
            label_column=request.label_column,
        )
        duplicates = corpus.duplicates
        if duplicates:
            fate = "kept" if request.keep_duplicates else "dropped from training"
            notices = [
                *notices,
                f"{duplicates} of {len(corpus.test_texts)} test documents also stand in the "
                f"training split: {fate}",
            ]
        if duplicates and not request.keep_duplicates:
            corpus = corpus.without_duplicates()
        encoded = encode(corpus, request.sizes.vocab_size, request.sizes.max_length)
        data = {
            "name": corpus.name,
            "fingerprint": corpus.fingerprint,
            "train": len(corpus.train_texts),
            "test": len(corpus.test_texts),
            "labels": corpus.label_names,
            "duplicates": duplicates,
            "duplicates_kept": request.keep_duplicates,
            "vocab_size": encoded.vocab_size,
            "notes": corpus.notes,
        }
        return encoded, data, notices

    def learner(self, setting: Setting) -> Learner:
        """See Task."""
        from zoo.tasks.classifying import ClassifierLearner

        return ClassifierLearner(setting)
