"""Pairs as token ids on disk, made once and memory-mapped by every worker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zoo.data.encoding import sealed
from zoo.data.encoding.byte_level import train_byte_level
from zoo.data.encoding.cache import entry
from zoo.data.encoding.encoded_documents import Documents
from zoo.data.sources.pairs import Pairs
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Raise it whenever the files, or the ids in them, would come out differently.
FORMAT = 1
TOKENIZER, TEXTS = "tokenizer.json", "pairs.json"
SPLITS = ("train", "test")
PAD, START, END = range(3)
SPECIALS = ("[no token]", "[start of text]", "[end of text]")
SIDES = ("source", "target")


@dataclass(frozen=True)
class EncodedPairs:
    """Encoded pairs in their directory. A source ends with END; a target has START before it too.

    max_length: the most tokens of a side, special ones among them.
    """

    directory: Path
    name: str
    fingerprint: str
    vocab_size: int
    max_length: int
    label_names: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, directory: Path | str) -> EncodedPairs:
        """What ``encode_pairs`` left in a directory; ZooError where there is nothing."""
        return cls(directory=Path(directory), **sealed.about(Path(directory)))

    @property
    def tokenizer_path(self) -> Path:
        """The file of the tokenizer, which sources and targets share."""
        return self.directory / TOKENIZER

    def side(self, split: str, side: str) -> Documents:
        """The sources or the targets of ``train`` or ``test``; the labels are all 0."""
        ids, offsets = (
            np.load(self.directory / f"{split}_{side}_{what}.npy", mmap_mode="r")
            for what in ("ids", "offsets")
        )
        return Documents(ids, offsets, np.zeros(len(offsets) - 1, dtype=np.int64))

    def targets(self, split: str) -> list[str]:
        """The targets as they were given."""
        texts = json.loads((self.directory / TEXTS).read_text(encoding="utf-8"))
        return [target for _, target in texts[split]]


def encode_pairs(pairs: Pairs, vocab_size: int, max_length: int) -> EncodedPairs:
    """Both sides of both splits as token ids, from the cache or into it.

    The tokenizer is trained on the training pairs alone. Raises ZooError where the cache cannot
    be written, a size is too small, or a pair is too long: half an answer would be a wrong one.
    """
    import tokenizers

    wanted = {
        "format": FORMAT,
        "tokenizers": tokenizers.__version__,
        "pairs": [pairs.fingerprint, pairs.name],
        "vocab_size": vocab_size,
        "max_length": max_length,
    }
    key = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:32]
    arrays = {f"{s}_{d}_{w}.npy" for s in SPLITS for d in SIDES for w in ("ids", "offsets")}
    files = {TOKENIZER, TEXTS, *arrays}

    def build(directory: Path) -> None:
        given = {"train": pairs.train, "test": pairs.test}
        texts = [side for pair in pairs.train for side in pair]
        tokenizer = train_byte_level(texts, vocab_size, SPECIALS, symbols=True)
        tokenizer.save(str(directory / TOKENIZER))
        sides = {
            (split, side): _encoded(tokenizer, [pair[place] for pair in given[split]], side)
            for split in SPLITS
            for place, side in enumerate(SIDES)
        }
        _refuse_long(pairs.name, [ids for side in sides.values() for ids in side], max_length)
        for (split, side), documents in sides.items():
            offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in documents])])
            flat = np.concatenate([np.array(ids, dtype=np.int32) for ids in documents])
            np.save(directory / f"{split}_{side}_ids.npy", flat)
            np.save(directory / f"{split}_{side}_offsets.npy", offsets.astype(np.int64))
        (directory / TEXTS).write_text(json.dumps(given), encoding="utf-8")
        sealed.seal(
            directory,
            {
                "name": pairs.name,
                "fingerprint": pairs.fingerprint,
                "vocab_size": tokenizer.get_vocab_size(),
                "max_length": max_length,
            },
        )

    return EncodedPairs.open(entry(f"pairs-{key}", build, lambda d: sealed.is_sound(d, files)))


def encode_source(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a source."""
    return [*tokenizer.encode(text).ids, END]


def _encoded(tokenizer: Tokenizer, texts: list[str], side: str) -> list[list[int]]:
    start = [START] if side == "target" else []
    return [[*start, *encoding.ids, END] for encoding in tokenizer.encode_batch_fast(texts)]


def decode_text(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of a target's ids, special ones left out."""
    text: str = tokenizer.decode([i for i in ids if i >= len(SPECIALS)])
    return text.strip()


def _refuse_long(name: str, documents: list[list[int]], max_length: int) -> None:
    lengths = [len(ids) for ids in documents]
    if (longest := max(lengths)) > max_length:
        over = sum(length > max_length for length in lengths)
        raise ZooError(
            f"{name}: {over} sources or targets are longer than {max_length} tokens; the longest "
            f"takes --max-length {longest}"
        )
