"""Texts as one sequence of token ids per split, made once and memory-mapped by every worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from zoo.data.encoding.byte_level import byte_lengths, train_byte_level
from zoo.data.encoding.encoded_data import EncodedData
from zoo.data.sources.corpus import Texts
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

END = 0
SPECIALS = ("[end of text]",)


@dataclass(frozen=True)
class EncodedStream(EncodedData):
    """Encoded texts: in each split one sequence, in which ``END`` comes before every text."""

    kind: ClassVar[str] = "stream"

    def stream(self, split: str) -> npt.NDArray[np.int32]:
        """The ids of ``train`` or ``validation`` (tokens), memory-mapped."""
        ids: npt.NDArray[np.int32] = np.load(self.directory / f"{split}.npy", mmap_mode="r")
        return ids

    def byte_lengths(self) -> npt.NDArray[np.int64]:
        """How many bytes of text every id stands for (vocab_size)."""
        return byte_lengths(self.tokenizer())


def encode_stream(texts: Texts, vocab_size: int, max_length: int) -> EncodedStream:
    """Both splits as token ids, from the cache or into it.

    The tokenizer is trained on the training texts alone. Raises ZooError where the cache cannot be
    written, a size is too small, or there is less text than one block of max_length.
    """

    def build(directory: Path) -> Tokenizer:
        tokenizer = train_byte_level(texts.train, vocab_size, SPECIALS)
        for split, part in (("train", texts.train), ("validation", texts.validation)):
            encodings = tokenizer.encode_batch_fast(part)
            ids = np.concatenate([np.array([END, *e.ids], dtype=np.int32) for e in encodings])
            if split == "train" and len(ids) <= max_length:
                raise ZooError(
                    f"{texts.name} has {len(ids)} tokens to train on: too few for one block of "
                    f"{max_length} (--max-length)"
                )
            np.save(directory / f"{split}.npy", ids)
        return tokenizer

    return EncodedStream.encode(texts, vocab_size, max_length, build)
