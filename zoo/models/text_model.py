"""Trained models with their tokenizers: texts in; classes, tags or new texts out."""

from __future__ import annotations

import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from zoo.data.batches import padded
from zoo.data.encoding import (
    END,
    END_OF_TEXT,
    START,
    decode_target,
    join_pieces,
    pieces_of,
)
from zoo.data.sources.corpus import check_string, check_text, check_tokens, is_blank
from zoo.data.tokenizer import PAD_ID
from zoo.errors import ZooError, listed
from zoo.models.architectures import EncoderDecoder, evaluating
from zoo.models.decoding import Decoding, generate, transduce

BATCH_SIZE = 64
NEW_TOKENS = 50  # of a language model, without max_new


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

    def predict(self, texts: Iterable[Any], batch_size: int = BATCH_SIZE) -> list[Any]:
        """An answer to every text, in their order: a ``Prediction`` or a ``TaggedText``.

        Raises ZooError for what is no text, and where the model's task has no such answers.
        """
        raise ZooError(f"a {type(self).__name__} predicts no classes and no tags")

    def generate(self, *args: Any, **options: Any) -> Iterator[GeneratedText]:
        """A new text for every prompt: see ``TextGenerator``. ZooError where the task has none."""
        raise ZooError(f"a {type(self).__name__} generates no texts")


class TextReader(TextModel, ABC):
    """A model that answers each text by itself. no_tokens: its answer to an empty one, in words."""

    no_tokens: ClassVar[str] = "there is no answer"

    @abstractmethod
    def answered(self, texts: Sequence[Any], first: int) -> Iterable[Any]:
        """The answers to a batch of texts, in evaluation mode and without gradients.

        first: the number of the first text, for errors.
        """

    def predict(self, texts: Iterable[Any], batch_size: int = BATCH_SIZE) -> list[Any]:
        if isinstance(texts, str):
            raise ZooError("predict takes a list of texts, not one text")
        texts, answers = list(texts), list[Any]()
        with evaluating(self):
            for start in range(0, len(texts), batch_size):
                answers += self.answered(texts[start : start + batch_size], start + 1)
        empty = [str(n) for n, each in enumerate(answers, 1) if getattr(each, "empty", False)]
        if empty:
            warnings.warn(f"no tokens in text {listed(empty, 5)}: {self.no_tokens}", stacklevel=2)
        return answers

    def encode(self, texts: Sequence[str], first: int = 1) -> list[Encoding]:
        """The tokens of each text, not cut. Raises ZooError for what is no text.

        first: the number of the first text, for errors.
        """
        visible = [_visible(text, number) for number, text in enumerate(texts, first)]
        encodings: list[Encoding] = self.tokenizer.encode_batch(visible)
        return encodings


def _visible(text: str, number: int) -> str:
    """The text; empty where all characters are invisible, which have word pieces too.

    Raises ZooError for what is no text.
    """
    check_string(f"text {number}", text)
    return "" if is_blank(text) else text


@dataclass(frozen=True)
class Prediction:
    """What a model predicts for one text, and how much of the text it read.

    probability: of the label; None where the task has none. probabilities: of every class, in the
    model's order. cut: how many tokens were beyond the model's length; unknown: how many of those
    read are not in its vocabulary. empty: whether the text has no tokens.
    """

    text: str
    label: str
    probability: float | None = None
    probabilities: dict[str, float] = field(default_factory=dict)
    cut: int = 0
    unknown: int = 0
    empty: bool = False


class TextClassifier(TextReader):
    """Texts to classes; model: a Classifier, with logits (B, classes).

    A text without tokens gets the shares of the classes among the training texts.
    """

    no_tokens = "the answer is how common each class was in training"

    def answered(self, texts: Sequence[str], first: int) -> Iterator[Prediction]:
        """The likeliest class of each text, and the probability of every class in float64."""
        whole = [encoding.ids for encoding in self.encode(texts, first)]
        read = [ids[: self.max_length] for ids in whole]
        scores = self(*padded(read, self.device)).cpu().double().softmax(dim=-1)
        if scores.isnan().any():
            raise ZooError("the model gives no number for a text: its weights are broken")
        for text, ids, shown, shares in zip(texts, whole, read, scores.tolist(), strict=True):
            if empty := len(ids) < 2:
                shares = self.class_shares
            yield Prediction(
                text,
                self.labels[shares.index(max(shares))],
                max(shares),
                dict(zip(self.labels, shares, strict=True)),
                cut=len(ids) - len(shown),
                unknown=shown.count(self.unknown_id),
                empty=empty,
            )

    @property
    def class_shares(self) -> list[float]:
        """The share of each class among the training texts; ZooError where it is not known."""
        if not (self.card and self.card.class_shares):
            raise ZooError("a text is empty, and this model does not say how common each class was")
        return list(self.card.class_shares)

    def logits(self, texts: Sequence[str]) -> Tensor:
        """Logits (texts, classes) of all texts in one batch, without dropout.

        Of a text without tokens they are the logarithms of the shares that ``predict`` gives it.
        """
        ids = [encoding.ids[: self.max_length] for encoding in self.encode(texts)]
        with evaluating(self):
            logits: Tensor = self(*padded(ids, self.device)).float()
            for row in (row for row, read in enumerate(ids) if len(read) < 2):
                logits[row] = torch.tensor(self.class_shares).log()
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
    def empty(self) -> bool:
        """Whether the text has no tokens."""
        return not self.tokens


class TextTagger(TextReader):
    """Texts to the tags of their tokens; model: a Tagger, with logits (B, L, tags).

    A text is a str, which the model's tokenizer divides into tokens, or a list of tokens as they
    are.
    """

    no_tokens = "there is no tag"

    def answered(self, texts: Sequence[str | Sequence[str]], first: int) -> Iterator[TaggedText]:
        """The tags of each text."""
        tokenized = self.tokenized(texts, first)
        pieces = pieces_of(self.tokenizer, itertools.chain.from_iterable(tokenized))
        read = [join_pieces(tokens, pieces, self.max_length) for tokens in tokenized]
        # A text without tokens has a place in the batch, and no tags in the answer.
        ids = [ids or [self.unknown_id] for ids, _ in read]
        logits = self(*padded(ids, self.device)).float()
        distribution = logits.softmax(dim=-1).cpu()
        for tokens, (_, firsts), shares in zip(tokenized, read, distribution, strict=True):
            own = shares[torch.tensor(firsts, dtype=torch.long)]
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

    def tokenized(self, texts: Sequence[str | Sequence[str]], first: int) -> list[list[str]]:
        """The tokens of each text; ZooError for what is no text."""
        tokenized = []
        for number, text in enumerate(texts, start=first):
            if isinstance(text, Iterable) and not isinstance(text, str):
                tokens = list(text)
                if tokens:
                    check_tokens(f"text {number}", tokens, tokens)
            else:
                parts = self.tokenizer.pre_tokenizer.pre_tokenize_str(_visible(text, number))
                tokens = [text[start:end] for _, (start, end) in parts]
            tokenized.append(tokens)
        return tokenized

    def encode(self, texts: Sequence[str | Sequence[str]], first: int = 1) -> list[Encoding]:
        """The word pieces of each text, not cut; ZooError for what is no text."""
        encodings: list[Encoding] = self.tokenizer.encode_batch(
            self.tokenized(texts, first), is_pretokenized=True, add_special_tokens=False
        )
        return encodings


@dataclass(frozen=True)
class GeneratedText:
    """What a model generated: the continuation of the prompt, or the whole target.

    tokens: how many; ended: whether the end-of-text token came; log_probability: of all generated
    tokens, the end included, under the model (nats).
    """

    prompt: str
    text: str
    tokens: int
    ended: bool
    log_probability: float


class TextGenerator(TextModel):
    """Prompts to texts.

    model: a LanguageModel, which continues a prompt, or an EncoderDecoder, which generates the
    target of a source. A prompt must leave room in the ``max_length`` tokens of the model.
    """

    @property
    def continues_prompt(self) -> bool:
        """Whether the generated text continues the prompt; False: it is a text of its own."""
        return not isinstance(self.model, EncoderDecoder)

    def generate(
        self,
        prompts: Iterable[str],
        *,
        max_new: int | None = None,
        temperature: float | None = None,
        seed: int = 0,
        beams: int = 1,
        no_repeat: int | None = None,
    ) -> Iterator[GeneratedText]:
        """Generate a text for each prompt, one at a time; options as of ``Decoding``.

        max_new: None is 50 for a language model, all there is room for in an encoder-decoder.
        Raises ZooError for a prompt that is empty or leaves no room, and for impossible values.
        """
        if isinstance(prompts, str):
            raise ZooError("generate takes a list of prompts, not one prompt")
        continues, model = self.continues_prompt, self.model
        for number, prompt in enumerate(prompts, start=1):
            check_text(f"prompt {number}", prompt)
            if continues:
                ids = [END_OF_TEXT, *self.tokenizer.encode(prompt).ids]
                room = self.max_length - len(ids)
            else:
                ids = [*self.tokenizer.encode(prompt.strip()).ids, END]
                room = self.max_length - 1 if len(ids) <= self.max_length else 0
            if room <= 0:
                raise ZooError(
                    f"prompt {number} takes {len(ids)} tokens: too long for this model of "
                    f"{self.max_length}"
                )
            if max_new is not None and max_new > room:
                raise ZooError(
                    f"{max_new} new tokens: prompt {number} leaves room for {room} of the "
                    f"model's {self.max_length}"
                )
            usual = min(room, NEW_TOKENS) if continues else room
            try:
                decoding = Decoding(
                    usual if max_new is None else max_new,
                    temperature=temperature,
                    seed=seed,
                    beams=beams,
                    no_repeat=no_repeat,
                    end=END_OF_TEXT if continues else END,
                    banned=() if continues else (PAD_ID, START),
                )
                batch = torch.tensor([ids], device=self.device)
                if isinstance(model, EncoderDecoder):
                    (new,) = transduce(model, batch, decoding, start=START)
                    text = decode_target(self.tokenizer, new.ids)
                else:
                    (new,) = generate(model, batch, decoding)  # type: ignore[arg-type]
                    text = self.tokenizer.decode(new.ids)
            except ValueError as error:
                raise ZooError(str(error)) from error
            yield GeneratedText(prompt, text, len(new.ids), new.ended, new.log_probability)
