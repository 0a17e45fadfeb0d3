"""A byte-level tokenizer: merged pairs of bytes, so that every text can be encoded and decoded.

Source: Sennrich et al. 2016 (byte-pair encoding); Radford et al. 2019, section 2.2 (over bytes).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BYTES = 256


def train_byte_level(
    texts: Iterable[str], vocab_size: int, specials: Sequence[str], *, symbols: bool = False
) -> Tokenizer:
    """Merge pairs of bytes until the vocabulary is full, or no pair occurs twice.

    specials: names of the first ids, which no text is encoded to; each contains a space, which
    no merge of bytes does. symbols: put a space before a text and split numbers into digits, so
    that a word has the same token at the beginning of a text as inside.
    Raises ZooError where the vocabulary is smaller than the number of bytes.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    assert all(" " in name for name in specials)
    if vocab_size < BYTES + len(specials):
        raise ZooError(
            f"a vocabulary of {vocab_size} is too small: bytes and special tokens alone take "
            f"{BYTES + len(specials)}"
        )
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=symbols)
    digits = pre_tokenizers.Digits(individual_digits=True)
    splitter = pre_tokenizers.Sequence([by_bytes, digits] if symbols else [by_bytes])
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = splitter
    trained.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=list(specials),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        ),
    )
    # Rebuilt from its merges alone, because a text would be searched for the special tokens too.
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    tokenizer: Tokenizer = Tokenizer(models.BPE(vocab=model["vocab"], merges=merges))
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def byte_lengths(tokenizer: Tokenizer) -> npt.NDArray[np.int64]:
    """How many bytes of text every id stands for (vocab_size); 0 for special ones."""
    lengths = np.zeros(tokenizer.get_vocab_size(), dtype=np.int64)
    for piece, number in tokenizer.get_vocab().items():
        lengths[number] = 0 if " " in piece else len(piece)  # a character of a piece is a byte
    return lengths
