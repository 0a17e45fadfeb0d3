"""What the encoded data of every task have in common: a cache entry with a tokenizer."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from zoo.data.cache import (
    MANIFEST,
    entry,
    file_digest,
    json_digest,
    read_manifest,
    write_manifest,
)
from zoo.errors import ZooError, one_line

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from zoo.data.sources.corpus import Corpus, Pairs, TaggedCorpus, Texts

# Raise it whenever the files, or the ids in them, would come out differently. What fields the data
# have is in the key of itself.
FORMAT = 4
TOKENIZER = "tokenizer.json"
GROUPS = "test_groups.json"


@dataclass(frozen=True)
class EncodedData:
    """Data as token ids in a directory, which any process can open again.

    fingerprint: that of the data before encoding. vocab_size: entries of the vocabulary, which may
    be fewer than asked for. max_length: the most tokens that a model reads at once, special ones
    included. label_names: of labelled documents.
    """

    kind: ClassVar[str]

    directory: Path
    name: str
    fingerprint: str
    vocab_size: int
    max_length: int
    label_names: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, directory: Path | str) -> Self:
        """The encoded data in a directory; ZooError where there are none of this class."""
        directory = Path(directory)
        try:
            about = dict(read_manifest(directory)["about"])
            if about.pop("kind") != cls.kind:
                raise ValueError("it is of another kind")
            return cls(directory=directory, **about)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ZooError(f"{directory} holds no encoded {cls.kind} ({error})") from error

    @property
    def key(self) -> str:
        """The name of the cache entry, by which `cached_entry` finds it on this machine."""
        return self.directory.name

    @property
    def tokenizer_path(self) -> Path:
        """The file of the tokenizer, for ``tokenizers.Tokenizer.from_file``."""
        return self.directory / TOKENIZER

    def has(self, split: str) -> bool:
        """Whether there are files of this split."""
        return any(self.directory.glob(f"{split}_*.npy"))

    def tokenizer(self) -> Tokenizer:
        """The tokenizer, read from its file."""
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self.tokenizer_path))

    def test_groups(self) -> list[str]:
        """The group of every test text; empty where there are none."""
        file = self.directory / GROUPS
        found: list[str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        return found

    def with_file(self, name: str, content: bytes) -> Self:
        """The same data with one more file, as another entry of the cache, named by its content.

        So whatever brings the data to another machine brings the file as well.
        """
        digest = hashlib.sha256(content).hexdigest()

        def write(directory: Path) -> None:
            for file in self.directory.iterdir():
                if file.name != MANIFEST:
                    shutil.copyfile(file, directory / file.name)
            (directory / name).write_bytes(content)
            write_manifest(directory, read_manifest(self.directory)["about"])

        return self.open(entry(f"{self.key}-{digest[:16]}", write))

    @classmethod
    def encode(
        cls,
        source: Corpus | Pairs | TaggedCorpus | Texts,
        vocab_size: int,
        max_length: int,
        build: Callable[[Path], Tokenizer],
        label_names: Sequence[str] = (),
        tokenizer_file: Path | None = None,
    ) -> Self:
        """The source's cache entry for these sizes, built where it is missing or damaged.

        build: writes the arrays into a directory, and returns the tokenizer it has trained, or
        that of the file. Raises ZooError where the cache cannot be written.
        """
        import tokenizers

        request = {
            "format": FORMAT,
            "tokenizers": tokenizers.__version__,
            "data": [source.fingerprint, source.name, source.notes],
            "fields": [one.name for one in fields(source)],
            "vocab_size": vocab_size,
            "max_length": max_length,
        }
        if tokenizer_file is not None:
            request["tokenizer"] = file_digest(tokenizer_file)
        digest = json_digest(request)

        def write(directory: Path) -> None:
            tokenizer = build(directory)
            tokenizer.save(str(directory / TOKENIZER))
            if groups := getattr(source, "test_groups", ()):
                (directory / GROUPS).write_text(json.dumps(groups), encoding="utf-8")
            about = {
                "kind": cls.kind,
                "name": source.name,
                "fingerprint": source.fingerprint,
                "vocab_size": tokenizer.get_vocab_size(),
                "max_length": max_length,
                "label_names": list(label_names),
            }
            write_manifest(directory, about)

        return cls.open(entry(f"{cls.kind}-{digest[:32]}", write))


def read_tokenizer(file: Path) -> Tokenizer:
    """The tokenizer in a file; ZooError where there is none."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no narrower class
        raise ZooError(f"{file} is not a tokenizer: {one_line(error)}") from error


def save_ids(directory: Path, name: str, documents: Sequence[Sequence[int]]) -> None:
    """Write the ids of all documents to ``NAME_ids.npy``, and where each begins to
    ``NAME_offsets.npy``, whose last offset is the number of ids.
    """
    offsets = np.zeros(len(documents) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in documents], out=offsets[1:])
    flat = np.fromiter((i for ids in documents for i in ids), dtype=np.int32, count=offsets[-1])
    np.save(directory / f"{name}_ids.npy", flat)
    np.save(directory / f"{name}_offsets.npy", offsets)
