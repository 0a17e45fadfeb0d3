"""Trained models with their tokenizers: texts in; classes, tags or filled texts out."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from zoo.data.batches import padded
from zoo.data.encoding import join_pieces, pieces_of
from zoo.data.sources.corpus import check_text
from zoo.data.tokenizer import MASK, MASK_ID, PREFIX, SPECIALS
from zoo.errors import ZooError
from zoo.models.architectures import evaluating

BATCH_SIZE = 64
MOST = 5  # word pieces that are named for each mask


class TextModel(nn.Module):
    """A trained model and its tokenizer. ``forward`` is the model's, everything else takes texts.

    max_length: most tokens that the model reads at once. labels: names of classes or tags, in the
    order of logits. card: how the model was made. layers_with_map: the layers, from 1, whose
    attention gives its weights. ``zoo.load`` sets the last two.
    """

    card: Any = None
    unknown_id = 1  # of the tokenizer's unknown token
    layers_with_map: tuple[int, ...] = ()

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, max_length: int, labels: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.model, self.tokenizer, self.max_length = model, tokenizer, max_length
        self.labels = list(labels)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    def forward(self, *args: Any, **options: Any) -> Tensor:
        """Ids (B, L) and their tokens to logits, as the model takes and gives them."""
        logits: Tensor = self.model(*args, **options)
        return logits


class TextReader(TextModel, ABC):
    """A model that answers each text by itself."""

    @abstractmethod
    def answered(self, texts: Sequence[Any], first: int) -> Iterable[Any]:
        """The answers to a batch of texts. first: the number of its first text, for errors."""

    def predict(self, texts: Iterable[Any], batch_size: int = BATCH_SIZE) -> list[Any]:
        """An answer to every text, in their order; ZooError for one that cannot be read."""
        return list(self.stream(texts, batch_size))

    def stream(self, texts: Iterable[Any], batch_size: int = BATCH_SIZE) -> Iterator[Any]:
        """Answers one by one; only one batch of texts is in memory."""
        if isinstance(texts, str):
            raise ZooError("predict takes a list of texts, not one text")
        numbered = enumerate(texts, start=1)
        while batch := list(itertools.islice(numbered, batch_size)):
            yield from self.answered([text for _, text in batch], batch[0][0])

    def encode(self, texts: Sequence[str], first: int = 1) -> list[Encoding]:
        """The tokens of each text, not cut; ZooError for an empty one, numbered from ``first``."""
        for number, text in enumerate(texts, start=first):
            check_text(f"text {number}", text)
        encodings: list[Encoding] = self.tokenizer.encode_batch(list(texts))
        for number, encoding in enumerate(encodings, start=first):
            if len(encoding.ids) < 2:
                raise ZooError(f"text {number} is empty")
        return encodings

    def read(
        self, texts: Sequence[str], first: int
    ) -> tuple[list[list[int]], list[dict[str, Any]]]:
        """The ids that are read of each text, and the fields of its ``ReadText``."""
        every = [encoding.ids for encoding in self.encode(texts, first)]
        shown = [ids[: self.max_length] for ids in every]
        about = [
            {
                "text": text,
                "tokens": len(read),
                "cut": len(ids) - len(read),
                "unknown": read.count(self.unknown_id),
            }
            for text, ids, read in zip(texts, every, shown, strict=True)
        ]
        return shown, about


@dataclass(frozen=True, kw_only=True)
class ReadText:
    """A text, and how much of it a model read.

    tokens: how many were read, special ones included; cut: how many were beyond the model's
    length; unknown: how many of those read are not in its vocabulary.
    """

    text: str
    tokens: int
    cut: int
    unknown: int


@dataclass(frozen=True)
class Answer:
    """A model's answer to one text.

    probability: of the label; None where the task has none. probabilities: of every class, in the
    model's order.
    """

    label: str
    probability: float | None = None
    probabilities: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Prediction(ReadText, Answer):
    """What a model predicts for one text: its answer, and how much of the text it read."""

    @property
    def all_unknown(self) -> bool:
        """Whether every token that was read, except [CLS], is unknown."""
        return self.unknown >= self.tokens - 1


class TextPredictor(TextReader):
    """A model that predicts something for each text: a class, a number."""

    @abstractmethod
    def answers(self, ids: Sequence[list[int]]) -> list[Answer]:
        """The answers to a batch of texts, as token ids cut to ``max_length``."""

    def answered(self, texts: Sequence[str], first: int) -> Iterator[Prediction]:
        """A prediction for each text."""
        ids, read = self.read(texts, first)
        with evaluating(self):
            answers = self.answers(ids)
        for answer, about in zip(answers, read, strict=True):
            yield Prediction(**vars(answer), **about)


class TextClassifier(TextPredictor):
    """Texts to classes; model: a Classifier, with logits (B, classes)."""

    def answers(self, ids: Sequence[list[int]]) -> list[Answer]:
        """The likeliest class of each text of token ids, and the probability of every class."""
        answers = []
        scores = self(*padded(ids, self.device)).float().softmax(dim=-1)
        if scores.isnan().any():
            raise ZooError("the model gives no number for a text: its weights are broken")
        for probabilities in scores.tolist():
            named = dict(zip(self.labels, probabilities, strict=True))
            best = max(named, key=named.__getitem__)
            answers.append(Answer(best, named[best], named))
        return answers

    def logits(self, texts: Sequence[str]) -> Tensor:
        """Logits (texts, classes) of all texts in one batch, without dropout."""
        ids = [encoding.ids[: self.max_length] for encoding in self.encode(texts)]
        with evaluating(self):
            logits: Tensor = self(*padded(ids, self.device)).float()
        return logits


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


class TextTagger(TextReader):
    """Texts to the tags of their tokens; model: a Tagger, with logits (B, L, tags).

    A text is a str, which the model's tokenizer divides into tokens, or a list of tokens as they
    are.
    """

    def answered(self, texts: Sequence[str | Sequence[str]], first: int) -> Iterator[TaggedText]:
        """The tags of each text."""
        tokenized = [self.tokens_of(text, f"text {n}") for n, text in enumerate(texts, start=first)]
        pieces = pieces_of(self.tokenizer, itertools.chain.from_iterable(tokenized))
        read = [join_pieces(tokens, pieces, self.max_length) for tokens in tokenized]
        with evaluating(self):
            logits = self(*padded([ids for ids, _ in read], self.device)).float()
        distribution = logits.softmax(dim=-1).cpu()
        for tokens, (_, firsts), shares in zip(tokenized, read, distribution, strict=True):
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
            check_text(name, text)
            splitter = self.tokenizer.pre_tokenizer
            tokens = [text[start:end] for _, (start, end) in splitter.pre_tokenize_str(text)]
        else:
            tokens = list(text)
            for token in tokens:
                check_text(f"a token of {name}", token)
        if not tokens:
            raise ZooError(f"{name} is empty")
        return tokens

    def encode(self, texts: Sequence[str | Sequence[str]], first: int = 1) -> list[Encoding]:
        """The word pieces of each text, not cut; ZooError for an empty one."""
        tokenized = [self.tokens_of(text, f"text {n}") for n, text in enumerate(texts, start=first)]
        encodings: list[Encoding] = self.tokenizer.encode_batch(
            tokenized, is_pretokenized=True, add_special_tokens=False
        )
        return encodings


@dataclass(frozen=True, kw_only=True)
class FilledText(ReadText):
    """A text whose masks are filled with the likeliest word pieces.

    masks: for each mask that was read the likeliest pieces, best first, with their probabilities.
    """

    filled: str
    masks: list[list[tuple[str, float]]]

    @property
    def all_unknown(self) -> bool:
        """Whether every token that was read, except [CLS] and masks, is unknown."""
        return 0 < self.unknown >= self.tokens - 1 - len(self.masks)


class MaskFiller(TextReader):
    """Texts with ``[MASK]`` to texts without; model: a MaskedLanguageModel."""

    def answered(self, texts: Sequence[str], first: int) -> Iterator[FilledText]:
        """Each text filled."""
        read, about = self.read(texts, first)
        with evaluating(self):
            ids, tokens = padded(read, self.device)
            places = (ids == MASK_ID).flatten().nonzero().flatten()
            logits = self(ids, tokens, places).float()
            logits[:, : len(SPECIALS)] = -torch.inf  # no text has them
            best = logits.softmax(dim=-1).topk(min(MOST, logits.shape[1] - len(SPECIALS)))
        likeliest = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        for text, shown, fields in zip(texts, read, about, strict=True):
            masks = [
                [(str(self.tokenizer.id_to_token(i)), p) for i, p in zip(*each, strict=True)]
                for each in itertools.islice(likeliest, shown.count(MASK_ID))
            ]
            filled = fill(text, [pieces[0][0] for pieces in masks])
            yield FilledText(**fields, filled=filled, masks=masks)

    def encode(self, texts: Sequence[str], first: int = 1) -> list[Encoding]:
        """The tokens of each text, not cut; ZooError for one without a mask, numbered."""
        encodings = super().encode(texts, first)
        for number, text in enumerate(texts, start=first):
            if MASK not in text:
                raise ZooError(f"text {number} has no {MASK}: write it where a word is missing")
        return encodings


def fill(text: str, pieces: Iterable[str]) -> str:
    """The text with a word piece in place of each mask, from the first one on.

    A piece that continues a word is joined to what stands before it.
    """
    first, *rest = text.split(MASK)
    filled, rest_of_pieces = first, iter(pieces)
    for part in rest:
        piece = next(rest_of_pieces, MASK)
        joins = piece.startswith(PREFIX) and piece != PREFIX
        filled = filled.rstrip() + piece.removeprefix(PREFIX) if joins else filled + piece
        filled += part
    return filled
