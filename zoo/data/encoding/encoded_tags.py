"""A tagged corpus as token ids on disk, made once and memory-mapped by every worker.

Where a token is divided into word pieces, its tag is on the first piece and the others have
``IGNORED`` (Devlin et al. 2019, section 5.3). There is no [CLS].
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from zoo.data.encoding.encoded_data import EncodedData, read_tokenizer, save_ids
from zoo.data.encoding.encoded_documents import TEXTS, Documents
from zoo.data.encoding.word_level import word_level_tokenizer
from zoo.data.encoding.word_pieces import UNK, train_tokenizer
from zoo.data.sources.corpus import IGNORED, TaggedCorpus

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class EncodedTags(EncodedData):
    """An encoded tagged corpus. max_length: the most word pieces of a text."""

    kind: ClassVar[str] = "tags"

    def split(self, split: str) -> tuple[Documents, Documents]:
        """The texts of a split, and their tags in place of ids; memory-mapped."""
        if not self.has(split):
            raise ValueError(f"no split {split!r}: train or test")
        offsets = self._array(f"{split}_ids_offsets")
        ids, tags = (self._array(f"{split}_{array}_ids") for array in ("ids", "tags"))
        unused = np.zeros(len(offsets) - 1, dtype=np.int64)
        return Documents(ids, offsets, unused), Documents(tags, offsets, unused)

    def token_counts(self, split: str) -> npt.NDArray[np.int64]:
        """How many tokens of each text are within ``max_length`` (texts)."""
        return self._array(f"{split}_tokens")

    def cut_tags(self, split: str) -> int:
        """How many tags that count are beyond ``max_length``, and neither trained on nor scored."""
        return int(self._array(f"{split}_cut"))

    def corpus(self) -> TaggedCorpus:
        """The corpus that was encoded, for baselines that learn from its tokens."""
        return TaggedCorpus(**json.loads((self.directory / TEXTS).read_text(encoding="utf-8")))

    def _array(self, name: str) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = np.load(self.directory / f"{name}.npy", mmap_mode="r")
        return array


def encode_tags(
    corpus: TaggedCorpus, vocab_size: int, max_length: int, tokenizer_file: Path | None = None
) -> EncodedTags:
    """All splits as token ids and tags cut to max_length, from the cache or into it.

    The tokenizer is trained on the train split alone, unless there is a file of one. Raises
    ZooError where the cache cannot be written, or the vocabulary is too small.
    """

    def build(directory: Path) -> Tokenizer:
        train = [" ".join(tokens) for tokens in corpus.train_tokens]
        if tokenizer_file is not None:
            tokenizer = read_tokenizer(tokenizer_file)
        elif corpus.word_level:
            tokenizer = word_level_tokenizer(train)
        else:
            tokenizer = train_tokenizer(train, vocab_size)
        for split, texts, tags in corpus.splits():
            pieces = pieces_of(tokenizer, (token for tokens in texts for token in tokens))
            ids, labels, counts, cut = list[list[int]](), list[list[int]](), list[int](), 0
            for tokens, its_tags in zip(texts, tags, strict=True):
                its_ids, firsts = join_pieces(tokens, pieces, max_length)
                its_labels = [IGNORED] * len(its_ids)
                for first, tag in zip(firsts, its_tags, strict=False):
                    its_labels[first] = tag
                ids.append(its_ids)
                labels.append(its_labels)
                counts.append(len(firsts))
                cut += sum(tag != IGNORED for tag in its_tags[len(firsts) :])
            save_ids(directory, f"{split}_ids", ids)
            save_ids(directory, f"{split}_tags", labels)
            np.save(directory / f"{split}_tokens.npy", np.array(counts, dtype=np.int64))
            np.save(directory / f"{split}_cut.npy", np.int64(cut))
        (directory / TEXTS).write_text(json.dumps(asdict(corpus)), encoding="utf-8")
        return tokenizer

    return EncodedTags.encode(
        corpus, vocab_size, max_length, build, corpus.label_names, tokenizer_file
    )


def pieces_of(tokenizer: Tokenizer, tokens: Iterable[str]) -> dict[str, list[int]]:
    """The ids of the pieces of every token: at least one, the unknown token's.

    As the tokenizer's ``is_pretokenized`` encodes them, with each different token encoded once.
    """
    different = list(dict.fromkeys(tokens))
    encodings = tokenizer.encode_batch_fast(
        [[token] for token in different], is_pretokenized=True, add_special_tokens=False
    )
    unknown = tokenizer.token_to_id(UNK)
    assert unknown is not None
    return {t: e.ids or [unknown] for t, e in zip(different, encodings, strict=True)}


def join_pieces(
    tokens: Sequence[str], pieces: Mapping[str, list[int]], max_length: int
) -> tuple[list[int], list[int]]:
    """The ids of a text, at most max_length, and where each token's first piece is among them."""
    ids, firsts = list[int](), list[int]()
    for token in tokens:
        if len(ids) >= max_length:
            break
        firsts.append(len(ids))
        ids += pieces[token]
    return ids[:max_length], firsts
