"""Trained models with their tokenizers: texts in, classes or tags out."""

from __future__ import annotations

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.data.batches import padded
from zoo.data.encoding import join_pieces, pieces_of
from zoo.errors import ZooError

BATCH_SIZE = 64


@contextlib.contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Without dropout and gradients inside the block; the module's mode is restored."""
    was_training = module.training
    module.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        module.train(was_training)


class TextModel(nn.Module):
    """A trained model and its tokenizer.

    max_length: most tokens that the model reads at once. card: how the model was made.
    layers_with_map: the layers, from 1, whose attention gives its weights. ``zoo.load`` sets the
    last two.
    """

    card: Any = None
    layers_with_map: tuple[int, ...] = ()

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, max_length: int) -> None:
        super().__init__()
        self.model, self.tokenizer, self.max_length = model, tokenizer, max_length

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device


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
class Prediction(Answer):
    """What a model predicts for one text: its answer, and how much of the text it read.

    tokens: how many were read, special ones included; cut: how many were beyond the model's
    length; unknown: how many of those read are not in its vocabulary.
    """

    text: str
    tokens: int
    cut: int
    unknown: int

    @property
    def all_unknown(self) -> bool:
        """Whether every token that was read, except [CLS], is unknown."""
        return self.unknown >= self.tokens - 1


class TextPredictor(TextModel, ABC):
    """A model that predicts something for each text: a class, a tag, a number."""

    unknown_id = 1  # of the tokenizer's unknown token

    @abstractmethod
    def answers(self, ids: Sequence[list[int]]) -> list[Answer]:
        """The answers to a batch of texts, as token ids cut to ``max_length``."""

    def predict(self, texts: Iterable[str], batch_size: int = BATCH_SIZE) -> list[Prediction]:
        """A prediction for every text, in their order; ZooError for one that is empty."""
        return list(self.stream(texts, batch_size))

    def stream(self, texts: Iterable[str], batch_size: int = BATCH_SIZE) -> Iterator[Prediction]:
        """Predictions one by one; only one batch of texts is in memory."""
        if isinstance(texts, str):
            raise ZooError("predict takes a list of texts, not one text")
        numbered = enumerate(texts, start=1)
        while batch := list(itertools.islice(numbered, batch_size)):
            given = [text for _, text in batch]
            ids = [encoding.ids for encoding in self.encode(given, batch[0][0])]
            read = [each[: self.max_length] for each in ids]
            with evaluating(self):
                answers = self.answers(read)
            for text, every, shown, answer in zip(given, ids, read, answers, strict=True):
                yield Prediction(
                    **vars(answer),
                    text=text,
                    tokens=len(shown),
                    cut=len(every) - len(shown),
                    unknown=shown.count(self.unknown_id),
                )

    def encode(self, texts: Sequence[str], first: int = 1) -> list[Encoding]:
        """The tokens of each text, not cut; ZooError for an empty one, numbered from ``first``."""
        for number, text in enumerate(texts, start=first):
            refuse_no_text(text, f"text {number}")
        encodings: list[Encoding] = self.tokenizer.encode_batch(list(texts))
        for number, encoding in enumerate(encodings, start=first):
            if len(encoding.ids) < 2:
                raise ZooError(f"text {number} is empty")
        return encodings


def refuse_no_text(text: object, name: str) -> None:
    """ZooError where a value is not a str, or one that cannot be encoded."""
    if not isinstance(text, str):
        raise ZooError(f"{name} is not a text but a {type(text).__name__}")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ZooError(f"{name} contains an unpaired surrogate, which is not valid text")


class TextClassifier(TextPredictor):
    """Texts to classes. ``forward`` takes token ids, everything else takes texts.

    model: a Classifier or a DeepEnsemble. labels: names of the classes, in the order of logits.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, max_length: int, labels: Sequence[str]
    ) -> None:
        super().__init__(model, tokenizer, max_length)
        self.labels = list(labels)

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to logits (B, classes)."""
        logits: Tensor = self.model(ids, tokens)
        return logits

    def answers(self, ids: Sequence[list[int]]) -> list[Answer]:
        """The likeliest class of each text of token ids, and the probability of every class."""
        found = []
        for probabilities in self(*padded(ids, self.device)).float().softmax(dim=-1).tolist():
            named = dict(zip(self.labels, probabilities, strict=True))
            best = max(named, key=named.__getitem__)
            found.append(Answer(best, named[best], named))
        return found

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
