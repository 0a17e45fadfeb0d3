"""Pairs as token ids on disk, made once and memory-mapped by every worker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from zoo.data.encoding.byte_level import train_byte_level
from zoo.data.encoding.encoded_data import EncodedData, save_ids
from zoo.data.encoding.encoded_documents import Documents
from zoo.data.sources.corpus import Pairs
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXTS = "pairs.json"
PAD, START, END = range(3)
SPECIALS = ("[no token]", "[start of text]", "[end of text]")


@dataclass(frozen=True)
class EncodedPairs(EncodedData):
    """Encoded pairs. A source ends with END; a target also begins with START.

    max_length: the most tokens of a source or a target, special ones included.
    """

    kind: ClassVar[str] = "pairs"

    def side(self, split: str, side: str) -> Documents:
        """The ``source`` or ``target`` texts of ``train`` or ``test``; the labels are all 0."""
        ids, offsets = (
            np.load(self.directory / f"{split}_{side}_{array}.npy", mmap_mode="r")
            for array in ("ids", "offsets")
        )
        return Documents(ids, offsets, np.zeros(len(offsets) - 1, dtype=np.int64))

    def targets(self, split: str) -> list[str]:
        """The targets' texts before encoding."""
        texts = json.loads((self.directory / TEXTS).read_text(encoding="utf-8"))
        return [target for _, target in texts[split]]


def encode_pairs(pairs: Pairs, vocab_size: int, max_length: int) -> EncodedPairs:
    """Both sides of both splits as token ids, from the cache or into it.

    The tokenizer is trained on the training pairs alone. Raises ZooError where the cache cannot
    be written, a size is too small, or a text is too long: a shortened answer would be wrong.
    """

    def build(directory: Path) -> Tokenizer:
        texts = {"train": pairs.train, "test": pairs.test}
        both_sides = [side for pair in pairs.train for side in pair]
        tokenizer = train_byte_level(both_sides, vocab_size, SPECIALS, symbols=True)
        encoded = {}
        for split, given in texts.items():
            for side, column in zip(("source", "target"), zip(*given, strict=True), strict=True):
                start = [START] if side == "target" else []
                encoded[f"{split}_{side}"] = [
                    [*start, *encoding.ids, END] for encoding in tokenizer.encode_batch_fast(column)
                ]
        lengths = [len(ids) for side in encoded.values() for ids in side]
        if (longest := max(lengths)) > max_length:
            too_long = sum(length > max_length for length in lengths)
            raise ZooError(
                f"{pairs.name}: {too_long} sources or targets are longer than {max_length} "
                f"tokens; the longest takes --max-length {longest}"
            )
        for name, documents in encoded.items():
            save_ids(directory, name, documents)
        (directory / TEXTS).write_text(json.dumps(texts), encoding="utf-8")
        return tokenizer

    return EncodedPairs.encode(pairs, vocab_size, max_length, build)


def encode_source(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a source."""
    return [*tokenizer.encode(text).ids, END]


def decode_text(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of a target's ids, without the special ones."""
    text: str = tokenizer.decode([i for i in ids if i >= len(SPECIALS)])
    return text.strip()
