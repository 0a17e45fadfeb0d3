"""A trained tagger that takes texts, or lists of tokens."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.data.batches import padded
from zoo.data.encoding import join_pieces, pieces_of
from zoo.errors import ZooError
from zoo.models.text_model import BATCH_SIZE, TextModel, evaluating, refuse_no_text


@dataclass(frozen=True)
class TaggedText:
    """The tags of one text.

    tokens: those that were read; tags, probabilities: of each, and how likely its tag is. cut: how
    many tokens were beyond the model's length; unknown: how many of those read have a word piece
    that is not in its vocabulary. distribution: float32 (tokens, tags), how likely every tag is.
    """

    tokens: list[str]
    tags: list[str]
    probabilities: list[float]
    cut: int
    unknown: int
    distribution: np.ndarray = field(compare=False, repr=False)

    @property
    def all_unknown(self) -> bool:
        """Whether every token that was read is unknown."""
        return self.unknown >= len(self.tokens)


class TextTagger(TextModel):
    """Texts to the tags of their tokens. ``forward`` takes token ids, everything else takes texts.

    A text is a str, which the model's tokenizer divides into tokens, or a list of tokens as they
    are. labels: names of the tags, in the order of logits.
    """

    unknown_id = 1  # of the tokenizer's unknown token

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, max_length: int, labels: Sequence[str]
    ) -> None:
        super().__init__(model, tokenizer, max_length)
        self.labels = list(labels)

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to logits (B, L, tags)."""
        logits: Tensor = self.model(ids, tokens)
        return logits

    def predict(
        self, texts: Iterable[str | Sequence[str]], batch_size: int = BATCH_SIZE
    ) -> list[TaggedText]:
        """The tags of every text, in their order; ZooError for one without tokens."""
        return list(self.stream(texts, batch_size))

    def stream(
        self, texts: Iterable[str | Sequence[str]], batch_size: int = BATCH_SIZE
    ) -> Iterator[TaggedText]:
        """The texts one by one; only one batch of them is in memory."""
        if isinstance(texts, str):
            raise ZooError("predict takes a list of texts, not one text")
        numbered = enumerate(texts, start=1)
        while batch := list(itertools.islice(numbered, batch_size)):
            given = [self.tokens_of(text, f"text {number}") for number, text in batch]
            pieces = pieces_of(self.tokenizer, itertools.chain.from_iterable(given))
            read = [join_pieces(tokens, pieces, self.max_length) for tokens in given]
            with evaluating(self):
                logits = self(*padded([ids for ids, _ in read], self.device)).float()
            found = logits.softmax(dim=-1).cpu()
            for tokens, (_, firsts), shares in zip(given, read, found, strict=True):
                own = shares[torch.tensor(firsts)]
                best = own.max(dim=-1)
                shown = tokens[: len(firsts)]
                yield TaggedText(
                    shown,
                    [self.labels[tag] for tag in best.indices.tolist()],
                    best.values.tolist(),
                    cut=len(tokens) - len(shown),
                    unknown=sum(self.unknown_id in pieces[token] for token in shown),
                    distribution=own.numpy(),
                )

    def tokens_of(self, text: str | Sequence[str], name: str = "the text") -> list[str]:
        """The tokens of a text; ZooError, which calls it ``name``, where it has none."""
        if isinstance(text, str):
            refuse_no_text(text, name)
            splitter = self.tokenizer.pre_tokenizer
            tokens = [text[start:end] for _, (start, end) in splitter.pre_tokenize_str(text)]
        else:
            tokens = list(text)
            for token in tokens:
                refuse_no_text(token, f"a token of {name}")
        if not tokens or not all(token.strip() for token in tokens):
            raise ZooError(f"{name} {'has an empty token' if tokens else 'is empty'}")
        return tokens

    def encode(self, texts: Sequence[str | Sequence[str]], first: int = 1) -> list[Encoding]:
        """The word pieces of each text, not cut; ZooError for an empty one."""
        given = [self.tokens_of(text, f"text {n}") for n, text in enumerate(texts, start=first)]
        encodings: list[Encoding] = self.tokenizer.encode_batch(
            given, is_pretokenized=True, add_special_tokens=False
        )
        return encodings
