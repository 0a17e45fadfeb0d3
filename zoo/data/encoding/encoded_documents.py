"""A corpus as token ids on disk, made once and memory-mapped by every worker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from zoo.data.encoding.encoded_data import EncodedData, read_tokenizer, save_ids
from zoo.data.encoding.word_level import word_level_tokenizer
from zoo.data.encoding.word_pieces import train_tokenizer
from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXTS = "texts.json"
SPLITS = ("train", "test")
CHUNK = 1000  # texts encoded at once: the tokenizer returns more than their ids


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


def joined(parts: Sequence[Documents]) -> Documents:
    """The documents of all parts, one part after another, in memory."""
    lengths = np.concatenate([part.lengths for part in parts])
    return Documents(
        ids=np.concatenate([part.ids for part in parts]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        labels=np.concatenate([part.labels for part in parts]),
    )


@dataclass(frozen=True)
class Truncation:
    """What was cut off the documents of one split.

    lengths: tokens of each whole document, [CLS] included (documents). ends: the number of
    characters up to the end of the last token that is read (documents). documents, tokens: how
    many were cut, and how many tokens of all documents were cut off.
    """

    lengths: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    documents: int
    tokens: int


@dataclass(frozen=True)
class EncodedDocuments(EncodedData):
    """An encoded corpus. max_length: the most tokens of a document, [CLS] included."""

    kind: ClassVar[str] = "documents"

    def split(self, split: str) -> Documents:
        """The documents of ``train``, ``test`` or ``validation``, memory-mapped."""
        if not self.has(split):
            raise ValueError(f"no split {split!r}: train or test")
        arrays = ("ids", "offsets", "labels")
        return Documents(
            *(np.load(self.directory / f"{split}_{a}.npy", mmap_mode="r") for a in arrays)
        )

    def truncation(self, split: str) -> Truncation:
        """What was cut off the documents of a split."""
        read = self.split(split).lengths
        lengths, ends = (np.load(self.directory / f"{split}_{a}.npy") for a in ("lengths", "ends"))
        return Truncation(lengths, ends, int((lengths > read).sum()), int((lengths - read).sum()))

    def vocabulary(self) -> list[str]:
        """The word piece of every id, in the order of the ids (vocab_size)."""
        pieces = self.tokenizer().get_vocab(with_added_tokens=True)
        return sorted(pieces, key=pieces.__getitem__)

    def corpus(self) -> Corpus:
        """The corpus that was encoded, for baselines that learn from texts."""
        return Corpus(**json.loads((self.directory / TEXTS).read_text(encoding="utf-8")))


def encode(
    corpus: Corpus, vocab_size: int, max_length: int, tokenizer_file: Path | None = None
) -> EncodedDocuments:
    """All splits as token ids cut to max_length, from the cache or into it.

    The tokenizer is trained on the train split alone, unless there is a file of one. Raises
    ZooError where the cache cannot be written, or a size is too small.
    """
    if max_length < 2:
        raise ZooError(f"a length of {max_length} has no room for [CLS] and one token")

    def build(directory: Path) -> Tokenizer:
        texts = corpus.train_texts
        if tokenizer_file is not None:
            tokenizer = read_tokenizer(tokenizer_file)
        elif corpus.word_level:
            tokenizer = word_level_tokenizer(texts)
        else:
            tokenizer = train_tokenizer(texts, vocab_size)
        for split, texts, labels in corpus.splits():
            ids, lengths, ends = _cut(tokenizer, texts, max_length)
            save_ids(directory, split, ids)
            np.save(directory / f"{split}_labels.npy", np.asarray(labels, dtype=np.int64))
            np.save(directory / f"{split}_lengths.npy", np.array(lengths, dtype=np.int64))
            np.save(directory / f"{split}_ends.npy", np.array(ends, dtype=np.int64))
        (directory / TEXTS).write_text(json.dumps(asdict(corpus)), encoding="utf-8")
        return tokenizer

    return EncodedDocuments.encode(
        corpus, vocab_size, max_length, build, corpus.label_names, tokenizer_file
    )


def _cut(
    tokenizer: Tokenizer, texts: list[str], max_length: int
) -> tuple[list[list[int]], list[int], list[int]]:
    """The first max_length ids of each text, and its ``lengths`` and ``ends`` (``Truncation``)."""
    ids, lengths, ends = list[list[int]](), list[int](), list[int]()
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        for text, encoding in zip(chunk, tokenizer.encode_batch(chunk), strict=True):
            ids.append(encoding.ids[:max_length])
            lengths.append(len(encoding))
            whole = len(encoding) <= max_length
            ends.append(len(text) if whole else encoding.offsets[max_length - 1][1])
    return ids, lengths, ends
