"""A trained masked language model that takes texts with masks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Encoding
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.data.batches import padded
from zoo.data.tokenizer import MASK, MASK_ID, PREFIX, SPECIALS
from zoo.errors import ZooError
from zoo.models.text_model import BATCH_SIZE, TextModel, evaluating, refuse_no_text

MOST = 5  # word pieces that are named for each mask


@dataclass(frozen=True)
class FilledText:
    """A text whose masks are filled with the likeliest word pieces.

    masks: for each mask that was read the likeliest pieces, best first, with their probabilities.
    tokens: how many were read, special ones included; cut: how many were beyond the model's length;
    unknown: how many of those read are not in its vocabulary.
    """

    text: str
    filled: str
    masks: list[list[tuple[str, float]]]
    tokens: int
    cut: int
    unknown: int

    @property
    def all_unknown(self) -> bool:
        """Whether every token that was read, except [CLS] and masks, is unknown."""
        return 0 < self.unknown >= self.tokens - 1 - len(self.masks)


class MaskFiller(TextModel):
    """Texts with ``[MASK]`` to texts without. ``forward`` takes token ids, all else takes texts."""

    unknown_id = 1  # of the tokenizer's unknown token

    def forward(self, ids: Tensor, tokens: Tokens, places: Tensor | None = None) -> Tensor:
        """As of ``MaskedLanguageModel``."""
        logits: Tensor = self.model(ids, tokens, places)
        return logits

    def predict(self, texts: Iterable[str], batch_size: int = BATCH_SIZE) -> list[FilledText]:
        """Every text filled, in their order; ZooError for one without a mask."""
        return list(self.stream(texts, batch_size))

    def stream(self, texts: Iterable[str], batch_size: int = BATCH_SIZE) -> Iterator[FilledText]:
        """Filled texts one by one; only one batch of texts is in memory."""
        if isinstance(texts, str):
            raise ZooError("predict takes a list of texts, not one text")
        mask, vocabulary = MASK_ID, self.tokenizer.get_vocab_size()
        numbered = enumerate(texts, start=1)
        while batch := list(itertools.islice(numbered, batch_size)):
            given = [text for _, text in batch]
            ids = [encoding.ids for encoding in self.encode(given, batch[0][0])]
            read = [each[: self.max_length] for each in ids]
            with evaluating(self):
                padded_ids, tokens = padded(read, self.device)
                places = (padded_ids == mask).flatten().nonzero().flatten()
                logits = self(padded_ids, tokens, places).float()
                logits[:, : len(SPECIALS)] = -torch.inf  # no text has them
                best = logits.softmax(dim=-1).topk(min(MOST, vocabulary - len(SPECIALS)))
            found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            for text, every, shown in zip(given, ids, read, strict=True):
                own = itertools.islice(found, shown.count(mask))
                masks = [
                    [(str(self.tokenizer.id_to_token(i)), p) for i, p in zip(*each, strict=True)]
                    for each in own
                ]
                yield FilledText(
                    text,
                    fill(text, [pieces[0][0] for pieces in masks]),
                    masks,
                    tokens=len(shown),
                    cut=len(every) - len(shown),
                    unknown=shown.count(self.unknown_id),
                )

    def encode(self, texts: Sequence[str], first: int = 1) -> list[Encoding]:
        """The tokens of each text, not cut; ZooError for one without a mask, numbered."""
        for number, text in enumerate(texts, start=first):
            refuse_no_text(text, f"text {number}")
            if MASK not in text:
                raise ZooError(f"text {number} has no {MASK}: write it where a word is missing")
        encodings: list[Encoding] = self.tokenizer.encode_batch(list(texts))
        return encodings


def fill(text: str, pieces: Iterable[str]) -> str:
    """The text with a word piece in place of each mask, from the first one on.

    A piece that continues a word is joined to what stands before it.
    """
    first, *rest = text.split(MASK)
    filled, given = first, iter(pieces)
    for part in rest:
        piece = next(given, MASK)
        joins = piece.startswith(PREFIX) and piece != PREFIX
        filled = filled.rstrip() + piece.removeprefix(PREFIX) if joins else filled + piece
        filled += part
    return filled
