"""A corpus as token ids on disk, made once and memory-mapped by every worker."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from zoo.data.encoding.encoded_data import EncodedData, save_ids
from zoo.data.encoding.word_level import word_level_tokenizer
from zoo.data.encoding.word_pieces import train_tokenizer
from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXTS = "texts.json"
SPLITS = ("train", "test")


@dataclass(frozen=True)
class Documents:
    """One split: document i is ``ids[offsets[i]:offsets[i + 1]]``, of class ``labels[i]``.

    ids: int32 (tokens); offsets: int64 (documents + 1); labels: int64 (documents).
    Memory-mapped and read-only. Every document begins with [CLS] and has no padding.
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each document (documents)."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class EncodedDocuments(EncodedData):
    """An encoded corpus. max_length: the most tokens of a document, [CLS] included."""

    kind: ClassVar[str] = "documents"

    def split(self, split: str) -> Documents:
        """The documents of ``train`` or ``test``, memory-mapped."""
        if split not in SPLITS:
            raise ValueError(f"no split {split!r}: train or test")
        arrays = ("ids", "offsets", "labels")
        return Documents(
            *(np.load(self.directory / f"{split}_{a}.npy", mmap_mode="r") for a in arrays)
        )

    def vocabulary(self) -> list[str]:
        """The word piece of every id, in the order of the ids (vocab_size)."""
        pieces = self.tokenizer().get_vocab(with_added_tokens=True)
        return sorted(pieces, key=pieces.__getitem__)

    def corpus(self) -> Corpus:
        """The corpus that was encoded, for baselines that learn from texts."""
        return Corpus(**json.loads((self.directory / TEXTS).read_text(encoding="utf-8")))


def encode(corpus: Corpus, vocab_size: int, max_length: int) -> EncodedDocuments:
    """Both splits as token ids cut to max_length, from the cache or into it.

    The tokenizer is trained on the train split alone. Raises ZooError where the cache cannot be
    written, or a size is too small.
    """
    if max_length < 2:
        raise ZooError(f"a length of {max_length} has no room for [CLS] and one token")

    def build(directory: Path) -> Tokenizer:
        texts = corpus.train_texts
        tokenizer = (
            word_level_tokenizer(texts) if corpus.word_level else train_tokenizer(texts, vocab_size)
        )
        tokenizer.enable_truncation(max_length)
        for split, texts, labels in corpus.splits():
            save_ids(directory, split, [e.ids for e in tokenizer.encode_batch_fast(texts)])
            np.save(directory / f"{split}_labels.npy", np.asarray(labels, dtype=np.int64))
        (directory / TEXTS).write_text(json.dumps(asdict(corpus)), encoding="utf-8")
        tokenizer.no_truncation()
        return tokenizer

    return EncodedDocuments.encode(corpus, vocab_size, max_length, build, corpus.label_names)
