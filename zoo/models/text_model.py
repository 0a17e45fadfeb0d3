"""Trained models with their tokenizers: texts in, predictions out."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from tokenizers import Encoding, Tokenizer
from torch import nn

from zoo.errors import ZooError

BATCH_SIZE = 64


class TextModel(nn.Module):
    """A trained model and its tokenizer.

    max_length: most tokens that the model reads at once. card: how the model was made.
    has_attention_map: whether its attention gives its weights. ``zoo.load`` sets the last two.
    """

    card: Any = None
    has_attention_map: bool = False

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, max_length: int) -> None:
        super().__init__()
        self.model, self.tokenizer, self.max_length = model, tokenizer, max_length

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device


@dataclass(frozen=True)
class Prediction:
    """What a model predicts for one text.

    label: the answer. probability: of the label; None where the task has none. probabilities: of
    every class, in the model's order. tokens: how many were read, special ones included; cut: how
    many were beyond the model's length; unknown: how many of those read are not in its vocabulary.
    """

    text: str
    label: str
    tokens: int
    cut: int
    unknown: int
    probability: float | None = None
    probabilities: dict[str, float] = field(default_factory=dict)

    @property
    def all_unknown(self) -> bool:
        """Whether every token that was read, except [CLS], is unknown."""
        return self.unknown >= self.tokens - 1


@dataclass(frozen=True)
class Answer:
    """A model's answer to one text, as in Prediction."""

    label: str
    probability: float | None = None
    probabilities: dict[str, float] = field(default_factory=dict)


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
            yield from self._predict([text for _, text in batch], batch[0][0])

    def _predict(self, texts: list[str], first: int) -> Iterator[Prediction]:
        ids = [encoding.ids for encoding in self.encode(texts, first)]
        read = [each[: self.max_length] for each in ids]
        was_training = self.training
        self.eval()
        try:
            with torch.inference_mode():
                answers = self.answers(read)
        finally:
            self.train(was_training)
        for text, every, shown, answer in zip(texts, ids, read, answers, strict=True):
            yield Prediction(
                text,
                answer.label,
                tokens=len(shown),
                cut=len(every) - len(shown),
                unknown=shown.count(self.unknown_id),
                probability=answer.probability,
                probabilities=answer.probabilities,
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
        raise ZooError(f"{name} contains half a character (a lone surrogate)")
