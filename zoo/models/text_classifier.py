"""A trained classifier that takes texts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.data.batching.document_batches import padded
from zoo.errors import ZooError
from zoo.inference.attention_map import AttentionMap, attention_weights
from zoo.inference.card import Card
from zoo.models.classifier import Classifier
from zoo.models.deep_ensemble import DeepEnsemble
from zoo.registry.cell import Cell
from zoo.train.token_noise import UNKNOWN

BATCH = 64


@dataclass(frozen=True)
class Prediction:
    """What a model says of one text.

    probabilities: of every class, in the model's order. tokens: those it read, [CLS] among them;
    cut: those beyond its greatest length, unread; unknown: those read that it does not know.
    """

    text: str
    label: str
    probability: float
    probabilities: dict[str, float]
    tokens: int
    cut: int
    unknown: int

    @property
    def nothing_known(self) -> bool:
        """Whether all that was read, but for [CLS], is unknown."""
        return self.unknown >= self.tokens - 1


class TextClassifier(nn.Module):
    """Texts to classes; ``forward`` takes token ids, everything else takes texts.

    labels: the classes' names, in the order of the scores. card: how it came to be.
    """

    def __init__(
        self, classifier: Classifier | DeepEnsemble, tokenizer: Tokenizer, card: Card, cell: Cell
    ):
        super().__init__()
        self.classifier = classifier
        self.tokenizer, self.card, self.cell = tokenizer, card, cell
        self.labels = card.labels
        self.max_length = card.sizes.max_length

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to scores (B, classes) whose softmax is the probabilities."""
        logits: Tensor = self.classifier(ids, tokens)
        return logits

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    def predict(self, texts: Iterable[str], batch_size: int = BATCH) -> list[Prediction]:
        """A prediction for every text, in their order; ZooError for one that is empty."""
        return list(self.stream(texts, batch_size))

    def stream(self, texts: Iterable[str], batch_size: int = BATCH) -> Iterator[Prediction]:
        """The same one after another, for any number of texts: one batch is held at a time."""
        if isinstance(texts, str):
            raise ZooError("predict takes a list of texts, not one text")
        numbered = enumerate(texts, start=1)
        while batch := list(itertools.islice(numbered, batch_size)):
            yield from self._predict([text for _, text in batch], batch[0][0])

    def logits(self, texts: Sequence[str]) -> Tensor:
        """Scores before the softmax (texts, classes), of all texts in one batch."""
        return self._logits([e.ids for e in self._encode(texts, 1)])

    def attention_map(self, text: str) -> AttentionMap:
        """What every token of a text looked at, in every layer and head.

        Raises ZooError where the attention has no map, or each of several members one of its own.
        """
        if isinstance(self.classifier, DeepEnsemble):
            raise ZooError(f"{len(self.classifier.members)} members have no one attention map")
        choice = self.cell.attention
        if not choice.can("map"):
            raise ZooError(f"attention '{choice}' has no attention map to show")
        (encoding,) = self._encode([text], 1)
        read = encoding.ids[: self.max_length]
        ids, tokens = padded([read], self.device)
        weights = attention_weights(self.classifier.encoder, ids, tokens)
        shown, cut = encoding.tokens[: self.max_length], len(encoding.ids) - len(read)
        return AttentionMap(text, shown, weights, cut, read.count(UNKNOWN))

    def _predict(self, texts: list[str], first: int) -> Iterator[Prediction]:
        ids = [encoding.ids for encoding in self._encode(texts, first)]
        shares = self._logits(ids).softmax(dim=-1)
        for text, every, row in zip(texts, ids, shares.tolist(), strict=True):
            read = every[: self.max_length]
            best = max(range(len(row)), key=row.__getitem__)
            yield Prediction(
                text=text,
                label=self.labels[best],
                probability=row[best],
                probabilities=dict(zip(self.labels, row, strict=True)),
                tokens=len(read),
                cut=len(every) - len(read),
                unknown=read.count(UNKNOWN),
            )

    @torch.inference_mode()
    def _logits(self, ids: Sequence[list[int]]) -> Tensor:
        """Scores (B, classes) of token ids cut to the greatest length, without dropout."""
        was_training = self.training
        self.eval()
        try:
            cut = [each[: self.max_length] for each in ids]
            logits: Tensor = self(*padded(cut, self.device)).float()
            return logits
        finally:
            self.train(was_training)

    def _encode(self, texts: Sequence[str], first: int) -> list[Encoding]:
        """The tokens of each text, uncut; ZooError, by its number, for one that has none."""
        for number, text in enumerate(texts, start=first):
            if not isinstance(text, str):
                raise ZooError(f"text {number} is no text but a {type(text).__name__}")
            if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
                raise ZooError(f"text {number} holds half a character (a lone surrogate)")
        encodings: list[Encoding] = self.tokenizer.encode_batch(list(texts))
        for number, encoding in enumerate(encodings, start=first):
            if len(encoding.ids) < 2:
                raise ZooError(f"text {number} is empty: there is nothing in it to read")
        return encodings
