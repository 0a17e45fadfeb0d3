"""A word-piece tokenizer, trained on the training split alone.

Source: Schuster and Nakajima, "Japanese and Korean voice search", ICASSP 2012; the normaliser and
the pre-tokenizer are those of BERT (Devlin et al., 2019).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.models import Model

PAD, UNK, CLS, MASK = SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[MASK]")
PAD_ID = 0
PREFIX = "##"
# As BERT: rarer characters become [UNK], so that one unusual document does not fill the vocabulary.
MAX_ALPHABET = 1000


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Train word pieces on the texts; the tokenizer puts [CLS] before every text.

    The vocabulary has vocab_size entries, or fewer if the texts have fewer pieces; [PAD] is 0. The
    same texts in any order give the same vocabulary in any process. Raises ZooError where
    vocab_size is smaller than the number of the texts' characters.
    """
    from tokenizers import models, processors, trainers

    documents = list(texts)
    tokenizer = _untrained(models.WordPiece(unk_token=UNK))
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
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    trained: Tokenizer = _untrained(
        models.WordPiece(vocabulary, unk_token=UNK, continuing_subword_prefix=PREFIX)
    )
    trained.add_special_tokens(list(SPECIALS))
    trained.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A", special_tokens=[(CLS, vocabulary[CLS])]
    )
    return trained


def _untrained(model: Model) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers

    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix=PREFIX)
    return tokenizer


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
    return alphabet, [PREFIX + c for c in alphabet if c in continuing]
