"""Causal language modelling. No torch here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from zoo.data.encoding.encoded_stream import EncodedStream, encode_stream
from zoo.data.sources.plain_text import load_texts
from zoo.tasks.base import Task

if TYPE_CHECKING:
    from zoo.config.request import Request
    from zoo.execution.base import Setting
    from zoo.registry import Registry
    from zoo.tasks.learner import Learner

DEFAULT_DATA = "newswire"


class LanguageModelling(Task):
    """A decoder alone, which scores the next token; beside it an interpolated n-gram."""

    name = "lm"
    model = "a language model"
    scored_on = "tokens"
    defaults: ClassVar[dict[str, Any]] = {
        "data": DEFAULT_DATA,
        "baseline": "ngram",
        "max_length": 128,
        "vocab_size": 1000,
        "epochs": 2,
        "batch_size": 8,
    }
    ignored: ClassVar[dict[str, Any]] = {
        "pool": "every position is read, and none pooled",
        "read_last": "every position of the last layer is read",
        "head_hidden": "tokens are scored by the embeddings themselves",
        "members": "several models write no one text",
        "token_dropout": "a byte-level vocabulary has no unknown token",
        "token_deletion": "what comes next would not be the text's own",
        "beam": "it is scored by the text that is there, and writes none",
    }
    baselines = ("stream",)

    def prepare(
        self, request: Request, registry: Registry
    ) -> tuple[EncodedStream, dict[str, Any], list[str]]:
        """See Task."""
        texts, notices = load_texts(
            registry,
            request.data or DEFAULT_DATA,
            text_column=request.text_column,
            label_column=request.label_column,
            keep_duplicates=request.keep_duplicates,
        )
        encoded = encode_stream(texts, request.sizes.vocab_size, request.sizes.max_length)
        train, held = (len(encoded.stream(split)) - 1 for split in ("train", "held"))
        size = sum(len(text.encode()) for text in texts.held)
        if texts.duplicates:
            fate = "kept" if request.keep_duplicates else "dropped from training"
            notices = [*notices, f"{texts.duplicates} texts held out also stand in train: {fate}"]
        data = {
            "name": texts.name,
            "fingerprint": texts.fingerprint,
            "train": train,
            "test": held,
            "test_bytes": size,
            "duplicates": texts.duplicates,
            "duplicates_kept": request.keep_duplicates,
            "vocab_size": encoded.vocab_size,
            "notes": texts.notes,
            "told": f"{train:,} tokens to train on, {held:,} for validation ({size:,} bytes; "
            f"{texts.notes['held out']})",
        }
        return encoded, data, notices

    def learner(self, setting: Setting) -> Learner:
        """See Task."""
        from zoo.tasks.language import LanguageLearner

        return LanguageLearner(setting)
