"""Encoded data: token ids in arrays, made once, kept in the cache and mapped by every worker."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from zoo.data.cache import MANIFEST, entry
from zoo.data.sources.corpus import SPLITS, TRAIN, Corpus, DataSet, Pairs, TaggedCorpus
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

D = TypeVar("D", bound=DataSet)
# Raise it whenever the files, or the ids in them, would come out differently.
FORMAT = 7
TOKENIZER = "tokenizer.json"
CORPUS = "corpus.json"
CORPORA = {kind.__name__: kind for kind in (Corpus, TaggedCorpus, Pairs)}  # kept for baselines


@dataclass(frozen=True)
class TokenArrays:
    """Examples as token ids: example i is ``ids[offsets[i]:offsets[i + 1]]``.

    ids: int32 (tokens); offsets: int64 (examples + 1). columns: further arrays by name, with a
    value for every example (a label) or for every token (a tag).
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    columns: Mapping[str, npt.NDArray[Any]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, examples: Sequence[Sequence[int]], **columns: Any) -> Self:
        """The arrays of examples, each a list of ids; of columns, ints become int64."""
        ids = np.fromiter(itertools.chain.from_iterable(examples), dtype=np.int32)
        offsets = _offsets([len(example) for example in examples])
        return cls(ids, offsets, {name: np.asarray(values) for name, values in columns.items()})

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each example (examples)."""
        return np.diff(self.offsets)

    def parts(self, values: npt.NDArray[Any] | None = None) -> list[npt.NDArray[Any]]:
        """The ids of each example, or their values (tokens)."""
        return np.split(self.ids if values is None else values, self.offsets[1:-1])

    def take(self, rows: npt.NDArray[np.int64]) -> TokenArrays:
        """These examples alone, in this order."""
        bounds = zip(self.offsets[rows], self.offsets[rows + 1], strict=True)
        places = np.concatenate([np.arange(start, end) for start, end in bounds])
        columns = {
            name: values[rows if len(values) == len(self) else places]
            for name, values in self.columns.items()
        }
        return TokenArrays(self.ids[places], _offsets(self.lengths[rows]), columns)

    def save(self, directory: Path, name: str) -> None:
        """Write every array to ``NAME.ARRAY.npy``."""
        arrays: dict[str, npt.NDArray[Any]] = {"ids": self.ids, "offsets": self.offsets}
        for array, values in {**arrays, **self.columns}.items():
            np.save(directory / f"{name}.{array}.npy", values)

    @classmethod
    def load(cls, directory: Path, name: str) -> Self:
        """What was saved under a name, memory-mapped; ValueError where nothing was."""
        files = {file.name.split(".")[1]: file for file in directory.glob(f"{name}.*.npy")}
        if not files:
            raise ValueError(f"no split {name!r} in {directory}")
        arrays = {array: np.load(file, mmap_mode="r") for array, file in files.items()}
        return cls(arrays.pop("ids"), arrays.pop("offsets"), arrays)


def joined(parts: Sequence[TokenArrays]) -> TokenArrays:
    """The examples of all parts, one part after another, with the columns that all have."""
    columns = set.intersection(*(set(part.columns) for part in parts))
    return TokenArrays(
        np.concatenate([part.ids for part in parts]),
        _offsets(np.concatenate([part.lengths for part in parts])),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in columns},
    )


def _offsets(lengths: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)


@dataclass(frozen=True)
class EncodedData:
    """Data as token ids in a directory, which any process can open again.

    fingerprint: of the data before encoding. vocab_size: entries of the vocabulary, which may be
    fewer than asked for. max_length: the most tokens that a model reads at once, special ones
    included. label_names: of labelled texts.
    """

    directory: Path
    name: str
    fingerprint: str
    vocab_size: int
    max_length: int
    label_names: list[str]

    @classmethod
    def open(cls, directory: Path | str) -> Self:
        """The encoded data in a directory; ZooError where there are none."""
        directory = Path(directory)
        try:
            return cls(directory, **json.loads((directory / MANIFEST).read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ZooError(f"{directory} holds no encoded data ({error})") from error

    @property
    def key(self) -> str:
        """The name of the cache entry, by which `cached_entry` finds it on this machine."""
        return self.directory.name

    @property
    def tokenizer_path(self) -> Path:
        """The file of the tokenizer, for ``tokenizers.Tokenizer.from_file``."""
        return self.directory / TOKENIZER

    def tokenizer(self) -> Tokenizer:
        """The tokenizer, read from its file."""
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self.tokenizer_path))

    def vocabulary(self) -> list[str]:
        """The entry of every id, in the order of the ids (vocab_size)."""
        entries = self.tokenizer().get_vocab(with_added_tokens=True)
        return sorted(entries, key=entries.__getitem__)

    def split(self, *names: str) -> TokenArrays:
        """The arrays of a split, as ``zoo.data.encoding`` describes them, or of several as one.

        Those of one split are memory-mapped. Raises ValueError where there is none of that name.
        """
        parts = [TokenArrays.load(self.directory, name) for name in names]
        return parts[0] if len(parts) == 1 else joined(parts)

    @property
    def splits(self) -> list[str]:
        """Which of ``SPLITS`` there are."""
        return [name for name in SPLITS if (self.directory / f"{name}.ids.npy").exists()]

    @property
    def trained_labels(self) -> list[str]:
        """Those of ``label_names`` that train has; they come first."""
        columns = self.split(TRAIN).columns if self.label_names else {}
        numbers = columns.get("labels", columns.get("tags"))
        return self.label_names if numbers is None else self.label_names[: numbers.max() + 1]

    def corpus(self) -> Any:
        """The Corpus, TaggedCorpus or Pairs that was encoded, for baselines that learn from it."""
        ((kind, values),) = json.loads((self.directory / CORPUS).read_text("utf-8")).items()
        return CORPORA[kind](**values)


def kept_encoded(
    encode: Callable[[D, int, int], tuple[Tokenizer, Mapping[str, TokenArrays]]],
) -> Callable[[D, int, int], EncodedData]:
    """What a function encodes, in an entry of the cache for its arguments, built where missing.

    encode: of data, a size of the vocabulary and a length, gives the tokenizer that it has trained,
    and the arrays of every split. Raises ZooError where the cache cannot be written.
    """

    @functools.wraps(encode)
    def kept(source: D, vocab_size: int, max_length: int) -> EncodedData:
        import tokenizers

        def write(directory: Path) -> dict[str, Any]:
            tokenizer, splits = encode(source, vocab_size, max_length)
            tokenizer.save(str(directory / TOKENIZER))
            for name, arrays in splits.items():
                arrays.save(directory, name)
            if (cls := type(source).__name__) in CORPORA:
                # Not dataclasses.asdict, which copies every token.
                values = {f.name: getattr(source, f.name) for f in dataclasses.fields(source)}
                text = json.dumps({cls: values})
                (directory / CORPUS).write_text(text, encoding="utf-8")
            size = tokenizer.get_vocab_size()
            return {**about, "vocab_size": size, "label_names": source.label_names}

        about = {"name": source.name, "fingerprint": source.fingerprint, "max_length": max_length}
        versions = [FORMAT, tokenizers.__version__, encode.__name__, vocab_size, source.notes]
        digest = hashlib.sha256(json.dumps([about, versions], sort_keys=True).encode()).hexdigest()
        return EncodedData.open(entry(f"encoded-{digest[:32]}", write))

    return kept
