"""A corpus as token ids on disk, made once and memory-mapped by every worker."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zoo.data.encoding.cache import entry
from zoo.data.encoding.word_pieces import PAD_ID, train_tokenizer
from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Raise it whenever the files, or the ids in them, would come out differently.
FORMAT = 1
META, TOKENIZER, TEXTS = "meta.json", "tokenizer.json", "texts.json"
SPLITS = ("train", "test")
ARRAYS = ("ids", "offsets", "labels")


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

    def __getitem__(self, index: int) -> npt.NDArray[np.int32]:
        """The token ids of one document (length)."""
        if not 0 <= index < len(self):
            raise IndexError(f"document {index} of {len(self)}")
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each document (documents)."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Encoded:
    """An encoded corpus in its directory; cheap to open again from there in another process.

    vocab_size: entries of the vocabulary, which may be fewer than asked for on a small corpus.
    max_length: the greatest number of tokens of a document, [CLS] among them.
    fingerprint: that of the corpus.
    """

    directory: Path
    name: str
    fingerprint: str
    vocab_size: int
    max_length: int
    label_names: list[str]
    pad_id: int = PAD_ID

    @classmethod
    def open(cls, directory: Path | str) -> Encoded:
        """The encoded corpus that `encode` left in a directory; ZooError where there is none."""
        directory = Path(directory)
        try:
            meta = json.loads((directory / META).read_text(encoding="utf-8"))
            return cls(directory=directory, **meta["encoded"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ZooError(f"{directory} holds no encoded corpus ({error})") from error

    def split(self, split: str) -> Documents:
        """The documents of ``train`` or ``test``, memory-mapped."""
        if split not in SPLITS:
            raise ValueError(f"no split {split!r}: train or test")
        return Documents(
            *(np.load(self.directory / f"{split}_{a}.npy", mmap_mode="r") for a in ARRAYS)
        )

    @property
    def tokenizer_path(self) -> Path:
        """The file of the tokenizer, for ``tokenizers.Tokenizer.from_file``."""
        return self.directory / TOKENIZER

    def vocabulary(self) -> list[str]:
        """The word piece behind every id, in the order of the ids (vocab_size)."""
        from tokenizers import Tokenizer

        pieces = Tokenizer.from_file(str(self.tokenizer_path)).get_vocab(with_added_tokens=True)
        return sorted(pieces, key=pieces.__getitem__)

    def corpus(self) -> Corpus:
        """The corpus that was encoded, for those that learn from raw texts."""
        return Corpus(**json.loads((self.directory / TEXTS).read_text(encoding="utf-8")))


def encode(corpus: Corpus, vocab_size: int, max_length: int) -> Encoded:
    """Both splits as token ids cut to max_length, from the cache or into it.

    The tokenizer is trained on the train split alone. The cache is ``ZOO_CACHE`` or the user's
    cache directory; its key is all that decides the ids, and an entry that is damaged is rebuilt.
    Raises ZooError where the cache cannot be written, or a size is too small.
    """
    import tokenizers

    if max_length < 2:
        raise ZooError(f"a length of {max_length} has no room for [CLS] and one token")
    wanted = {
        "format": FORMAT,
        "tokenizers": tokenizers.__version__,
        "corpus": [corpus.fingerprint, corpus.name, corpus.notes],
        "vocab_size": vocab_size,
        "max_length": max_length,
    }
    key = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:32]

    def build(directory: Path) -> None:
        _write(corpus, vocab_size, max_length, directory)

    return Encoded.open(entry(f"encoded-{key}", build, _sound))


def _write(corpus: Corpus, vocab_size: int, max_length: int, directory: Path) -> None:
    """Everything of an entry, and last of all the file that vouches for the others."""
    tokenizer = train_tokenizer(corpus.train_texts, vocab_size)
    tokenizer.save(str(directory / TOKENIZER))
    tokenizer.enable_truncation(max_length)
    for split, texts, labels in (
        ("train", corpus.train_texts, corpus.train_labels),
        ("test", corpus.test_texts, corpus.test_labels),
    ):
        ids, offsets = _flat(tokenizer, texts)
        np.save(directory / f"{split}_ids.npy", ids)
        np.save(directory / f"{split}_offsets.npy", offsets)
        np.save(directory / f"{split}_labels.npy", np.asarray(labels, dtype=np.int64))
    (directory / TEXTS).write_text(json.dumps(asdict(corpus)), encoding="utf-8")
    encoded = {
        "name": corpus.name,
        "fingerprint": corpus.fingerprint,
        "vocab_size": tokenizer.get_vocab_size(),
        "max_length": max_length,
        "label_names": corpus.label_names,
    }
    digests = {file.name: _digest(file) for file in sorted(directory.iterdir())}
    meta = {"encoded": encoded, "sha256": digests}
    (directory / META).write_text(json.dumps(meta, indent=1), encoding="utf-8")


def _flat(
    tokenizer: Tokenizer, texts: list[str]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The ids of all texts one after another (tokens), and where each begins (texts + 1)."""
    documents = [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)]
    offsets = np.zeros(len(documents) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in documents], out=offsets[1:])
    flat = np.fromiter((i for ids in documents for i in ids), dtype=np.int32, count=offsets[-1])
    return flat, offsets


def _sound(directory: Path) -> bool:
    """Whether every file of an entry is there, and is what was written."""
    try:
        meta: dict[str, Any] = json.loads((directory / META).read_text(encoding="utf-8"))
        digests = meta["sha256"]
        expected = {TOKENIZER, TEXTS, *(f"{s}_{a}.npy" for s in SPLITS for a in ARRAYS)}
        Encoded.open(directory)
        return set(digests) == expected and all(
            _digest(directory / name) == digest for name, digest in digests.items()
        )
    except (OSError, ValueError, KeyError, TypeError, ZooError):
        return False


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
