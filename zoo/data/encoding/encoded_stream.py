"""Texts as streams of token ids on disk, made once and memory-mapped by every worker."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from zoo.data.encoding import sealed
from zoo.data.encoding.byte_level import byte_lengths, train_byte_level
from zoo.data.encoding.cache import entry
from zoo.data.sources.plain_text import Texts
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Raise it whenever the files, or the ids in them, would come out differently.
FORMAT = 1
TOKENIZER = "tokenizer.json"
SPLITS = ("train", "held")
END = 0
SPECIALS = ("[end of text]",)


@dataclass(frozen=True)
class EncodedStream:
    """Encoded texts in their directory. max_length: tokens that a model reads at once.

    Each split is one stream, every text of it after an ``END``.
    """

    directory: Path
    name: str
    fingerprint: str
    vocab_size: int
    max_length: int
    label_names: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, directory: Path | str) -> EncodedStream:
        """What ``encode_stream`` left in a directory; ZooError where there is nothing."""
        return cls(directory=Path(directory), **sealed.about(Path(directory)))

    @property
    def tokenizer_path(self) -> Path:
        """The file of the tokenizer."""
        return self.directory / TOKENIZER

    def stream(self, split: str) -> npt.NDArray[np.int32]:
        """The ids of ``train`` or ``held`` (tokens), memory-mapped."""
        ids: npt.NDArray[np.int32] = np.load(self.directory / f"{split}.npy", mmap_mode="r")
        return ids

    def byte_lengths(self) -> npt.NDArray[np.int64]:
        """How many bytes of text every id stands for (vocabulary)."""
        from tokenizers import Tokenizer

        return byte_lengths(Tokenizer.from_file(str(self.tokenizer_path)))


def encode_stream(texts: Texts, vocab_size: int, max_length: int) -> EncodedStream:
    """Both splits as token ids, from the cache or into it.

    The tokenizer is trained on the training part alone. Raises ZooError where the cache cannot be
    written, a size is too small, or there is less text than one block.
    """
    import tokenizers

    wanted = {
        "format": FORMAT,
        "tokenizers": tokenizers.__version__,
        "texts": [texts.fingerprint, texts.name],
        "vocab_size": vocab_size,
        "max_length": max_length,
    }
    key = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:32]
    files = {TOKENIZER, *(f"{split}.npy" for split in SPLITS)}

    def build(directory: Path) -> None:
        tokenizer = train_byte_level(texts.train, vocab_size, SPECIALS)
        tokenizer.save(str(directory / TOKENIZER))
        for split, part in zip(SPLITS, (texts.train, texts.held), strict=True):
            ids = to_stream(tokenizer, part)
            if split == "train" and len(ids) <= max_length:
                raise ZooError(
                    f"{texts.name} has {len(ids)} tokens to train on: too few for one block of "
                    f"{max_length} (--max-length)"
                )
            np.save(directory / f"{split}.npy", ids)
        sealed.seal(
            directory,
            {
                "name": texts.name,
                "fingerprint": texts.fingerprint,
                "vocab_size": tokenizer.get_vocab_size(),
                "max_length": max_length,
            },
        )

    return EncodedStream.open(entry(f"stream-{key}", build, lambda d: sealed.is_sound(d, files)))


def to_stream(tokenizer: Tokenizer, texts: list[str]) -> npt.NDArray[np.int32]:
    """The ids of all texts, each after an ``END`` (tokens)."""
    encodings = tokenizer.encode_batch_fast(texts)
    return np.concatenate([np.array([END, *e.ids], dtype=np.int32) for e in encodings])
