"""Texts in windows of word pieces, made once and memory-mapped by every worker.

A text that is longer than a model reads is divided into windows, so that none of it is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from zoo.data.encoding.encoded_data import EncodedData
from zoo.data.encoding.encoded_documents import CHUNK, Documents
from zoo.data.encoding.word_pieces import PREFIX, SPECIALS, train_tokenizer
from zoo.data.sources.corpus import Texts
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FIRST_PIECE = len(SPECIALS)  # ids below are special tokens


@dataclass(frozen=True)
class Vocabulary:
    """What the pieces of a tokenizer are.

    bytes: how many bytes of normalised text each id stands for, 0 for special tokens (vocab_size).
    continues: whether an id continues the word before it (vocab_size).
    """

    bytes: npt.NDArray[np.int64]
    continues: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Vocabulary:
        """That of a tokenizer of word pieces, or of whole words."""
        size = tokenizer.get_vocab_size()
        found = cls(np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.bool_))
        for piece, number in tokenizer.get_vocab().items():
            if number >= FIRST_PIECE:
                found.continues[number] = piece.startswith(PREFIX) and piece != PREFIX
                letters = piece.removeprefix(PREFIX) if found.continues[number] else piece
                found.bytes[number] = len(letters.encode())
        return found


@dataclass(frozen=True)
class EncodedTexts(EncodedData):
    """Encoded texts. max_length: the most tokens of a window, [CLS] included."""

    kind: ClassVar[str] = "texts"

    def split(self, split: str) -> Documents:
        """The windows of ``train`` or ``validation``, memory-mapped.

        A label is the number of the window's text; windows of one text follow one another.
        """
        names = (f"{split}_{array}.npy" for array in ("ids", "offsets", "texts"))
        return Documents(*(np.load(self.directory / name, mmap_mode="r") for name in names))

    def pieces(self) -> Vocabulary:
        """What the pieces of the tokenizer are."""
        return Vocabulary.of(self.tokenizer())


def encode_texts(texts: Texts, vocab_size: int, max_length: int) -> EncodedTexts:
    """Both splits as windows of token ids, from the cache or into it.

    The tokenizer is trained on the training texts alone. Raises ZooError where the cache cannot be
    written, or a size is too small.
    """
    if max_length < 3:
        raise ZooError(f"a length of {max_length} has no room for [CLS], a mask and a neighbour")

    def build(directory: Path) -> Tokenizer:
        tokenizer = train_tokenizer(texts.train, vocab_size)
        for split, part in (("train", texts.train), ("validation", texts.validation)):
            found = windows(tokenizer, part, max_length)
            if not len(found):
                raise ZooError(f"{texts.name}: {split} has no word")
            np.save(directory / f"{split}_ids.npy", found.ids)
            np.save(directory / f"{split}_offsets.npy", found.offsets)
            np.save(directory / f"{split}_texts.npy", found.labels)
        return tokenizer

    return EncodedTexts.encode(texts, vocab_size, max_length, build)


def windows(tokenizer: Tokenizer, texts: Sequence[str], max_length: int) -> Documents:
    """Each text as windows of about equal length, at most max_length; [CLS] begins each of them.

    The label of a window is the number of its text. A text without a piece has none.
    """
    parts, numbers = list[list[int]](), list[int]()
    for number, (cls, *pieces) in enumerate(_ids(tokenizer, texts)):
        count = -(-len(pieces) // (max_length - 1))
        for part in np.array_split(pieces, count) if count else ():
            parts.append([cls, *part.tolist()])
            numbers.append(number)
    lengths = [len(part) for part in parts]
    flat = np.fromiter((i for part in parts for i in part), dtype=np.int32, count=sum(lengths))
    return Documents(
        flat, np.cumsum([0, *lengths], dtype=np.int64), np.array(numbers, dtype=np.int64)
    )


def token_counts(documents: Documents, vocab_size: int) -> npt.NDArray[np.int64]:
    """How often each token occurs in the documents (vocab_size)."""
    return np.bincount(documents.ids, minlength=vocab_size)


def _ids(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[list[int]]:
    for start in range(0, len(texts), CHUNK):
        for encoding in tokenizer.encode_batch_fast(list(texts[start : start + CHUNK])):
            yield encoding.ids


def take(documents: Documents, rows: npt.NDArray[np.int64]) -> Documents:
    """The documents of these rows alone, in this order."""
    bounds = zip(documents.offsets[rows], documents.offsets[rows + 1], strict=True)
    parts = [documents.ids[start:end] for start, end in bounds]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return Documents(np.concatenate(parts), offsets, documents.labels[rows])
