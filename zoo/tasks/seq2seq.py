"""Writing one text from another. No torch here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from zoo.data.encoding.encoded_pairs import EncodedPairs, encode_pairs
from zoo.data.sources.pairs import DEFAULT, load_pairs
from zoo.tasks.base import Task

if TYPE_CHECKING:
    from zoo.config.request import Request
    from zoo.execution.base import Setting
    from zoo.registry import Registry
    from zoo.tasks.learner import Learner


class Transduction(Task):
    """An encoder and a decoder with cross-attention, taught by the target itself."""

    name = "seq2seq"
    model = "an encoder-decoder"
    scored_on = "pairs"
    defaults: ClassVar[dict[str, Any]] = {
        "data": DEFAULT,
        "baseline": "none",
        "max_length": 32,
        "vocab_size": 1000,
        "epochs": 12,
    }
    ignored: ClassVar[dict[str, Any]] = {
        "pool": "the decoder reads every position of the encoder, and none is pooled",
        "read_last": "the decoder reads every position of the encoder's last layer",
        "head_hidden": "tokens are scored by the embeddings themselves",
        "members": "several models write no one text",
        "token_dropout": "a byte-level vocabulary has no unknown token",
        "token_deletion": "the target says what the whole source says",
        "text_column": "pairs have no columns with names",
        "label_column": "pairs have no columns with names",
        "keep_duplicates": "no source is ever in both splits",
    }

    def config(self, request: Request) -> dict[str, Any]:
        """See Task; how many beams were searched with decides a score too."""
        return {**super().config(request), "beam": request.beam}

    def prepare(
        self, request: Request, registry: Registry
    ) -> tuple[EncodedPairs, dict[str, Any], list[str]]:
        """See Task."""
        pairs = load_pairs(request.data or DEFAULT)
        encoded = encode_pairs(pairs, request.sizes.vocab_size, request.sizes.max_length)
        data = {
            "name": pairs.name,
            "fingerprint": pairs.fingerprint,
            "train": len(pairs.train),
            "test": len(pairs.test),
            "duplicates": 0,
            "duplicates_kept": False,
            "vocab_size": encoded.vocab_size,
            "notes": pairs.notes,
            "told": f"{len(pairs.train):,} training and {len(pairs.test):,} test pairs. "
            "Speeds are of passes over given targets, not of decoding",
        }
        return encoded, data, []

    def learner(self, setting: Setting) -> Learner:
        """See Task."""
        from zoo.tasks.transducing import TransductionLearner

        return TransductionLearner(setting)
