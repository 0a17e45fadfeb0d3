"""Trained models with their tokenizers: texts in, predictions out."""

from __future__ import annotations

import contextlib
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
