"""A tokenizer with one id for every word between spaces, for data whose words are symbols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zoo.data.encoding.word_pieces import CLS, SPECIALS, UNK

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def word_level_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """The tokenizer of all words of the texts, in sorted order after the special tokens.

    It puts [CLS] before every text. However many words there are, none is left out.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = sorted({word for text in texts for word in text.split()}.difference(SPECIALS))
    vocabulary = {word: number for number, word in enumerate([*SPECIALS, *words])}
    tokenizer: Tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A", special_tokens=[(CLS, vocabulary[CLS])]
    )
    return tokenizer
