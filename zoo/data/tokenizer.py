"""Three tokenizers, trained on the training split alone: word pieces, whole words, pairs of bytes.

Sources: Schuster and Nakajima, "Japanese and Korean voice search", ICASSP 2012 (word pieces);
Devlin et al. 2019 (their normaliser and pre-tokenizer); Sennrich et al. 2016 (byte-pair encoding);
Radford et al. 2019, section 2.2 (over bytes).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.models import Model

PAD, UNK, CLS, MASK = SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[MASK]")
PAD_ID = 0
MASK_ID = SPECIALS.index(MASK)
FIRST_PIECE = len(SPECIALS)  # ids below are special tokens
CONTINUATION = "##"  # of a word piece that continues a word
# As BERT: rarer characters become [UNK], so that one unusual document does not fill the vocabulary.
MAX_ALPHABET = 1000
BYTES = 256


def piece_bytes(tokenizer: Tokenizer) -> npt.NDArray[np.int64]:
    """How many bytes of text each entry stands for (vocab_size); special ones stand for none.

    Of word pieces and words they are those of normalised text.
    """
    sizes, vocabulary = np.zeros(tokenizer.get_vocab_size(), dtype=np.int64), tokenizer.get_vocab()
    by_bytes = vocabulary.get(UNK) != SPECIALS.index(UNK)  # which needs no unknown token
    for piece, number in vocabulary.items():
        if by_bytes:  # a character of a piece is a byte
            sizes[number] = 0 if " " in piece else len(piece)
        elif number >= FIRST_PIECE:
            sizes[number] = len((piece.removeprefix(CONTINUATION) or piece).encode())
    return sizes


def train_word_pieces(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Train word pieces on the texts; the tokenizer puts [CLS] before every text.

    The vocabulary has vocab_size entries, or fewer if the texts have fewer pieces; [PAD] is 0. The
    same texts in any order give the same vocabulary in any process. Raises ZooError where
    vocab_size is smaller than the number of the texts' characters.
    """
    from tokenizers import models, trainers

    documents = list(texts)
    tokenizer = _bert_tokenizer(models.WordPiece(unk_token=UNK))
    alphabet, continuing = _alphabet(tokenizer, documents)
    needed = len(SPECIALS) + len(alphabet) + len(continuing)
    if vocab_size < needed:
        raise ZooError(
            f"a vocabulary of {vocab_size} is too small: the characters of these texts "
            f"alone take {needed}"
        )
    # The trainer numbers continuing characters in the order of a hash table, which differs from
    # process to process, and breaks ties between merges by these numbers. Named as special tokens
    # they are numbered first and in our order; the tokenizer is then rebuilt without that mark.
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        special_tokens=[*SPECIALS, *continuing],
        initial_alphabet=alphabet,
        limit_alphabet=max(len(alphabet), 1),
        continuing_subword_prefix=CONTINUATION,
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    trained = _bert_tokenizer(
        models.WordPiece(vocabulary, unk_token=UNK, continuing_subword_prefix=CONTINUATION)
    )
    trained.add_special_tokens(list(SPECIALS))
    _begin_with_cls(trained)
    return trained


def _bert_tokenizer(model: Model) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers

    tokenizer: Tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix=CONTINUATION)
    return tokenizer


def _begin_with_cls(tokenizer: Tokenizer) -> None:
    from tokenizers import processors

    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A", special_tokens=[(CLS, tokenizer.token_to_id(CLS))]
    )


def _alphabet(tokenizer: Tokenizer, documents: list[str]) -> tuple[list[str], list[str]]:
    """The most frequent characters, and those that continue a word as ``##c``; both sorted."""
    chunks = Counter(
        chunk for text in documents for chunk in tokenizer.normalizer.normalize_str(text).split()
    )
    characters: Counter[str] = Counter()
    continuing: set[str] = set()
    for chunk, count in chunks.items():
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(chunk):
            for character in word:
                characters[character] += count
            continuing.update(word[1:])
    ranked = sorted(characters, key=lambda c: (-characters[c], c))
    alphabet = sorted(ranked[:MAX_ALPHABET])
    return alphabet, [CONTINUATION + c for c in alphabet if c in continuing]


def word_level_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """One id for every word between spaces, for data whose words are symbols.

    The words are in sorted order after the special tokens; however many there are, none is left
    out. It puts [CLS] before every text.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = sorted({word for text in texts for word in text.split()}.difference(SPECIALS))
    vocabulary = {word: number for number, word in enumerate([*SPECIALS, *words])}
    tokenizer: Tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    _begin_with_cls(tokenizer)
    return tokenizer


def train_byte_level(
    texts: Iterable[str], vocab_size: int, specials: Sequence[str], *, symbols: bool = False
) -> Tokenizer:
    """Merge pairs of bytes until the vocabulary is full, or no pair occurs twice.

    Every text can be encoded and decoded. specials: names of the first ids, which no text is
    encoded to; each contains a space, which no merge of bytes does. symbols: put a space before a
    text and split numbers into digits, so that a word has the same token at the beginning of a text
    as inside. Raises ZooError where the vocabulary is smaller than the number of bytes.
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
