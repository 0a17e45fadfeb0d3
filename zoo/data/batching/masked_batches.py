"""Texts with masked tokens, on the device, in batches of texts of similar length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.data.batching.document_batches import ByLength, Split, shuffled_batches
from zoo.data.encoding.encoded_documents import Documents
from zoo.data.encoding.encoded_texts import FIRST_PIECE, Vocabulary
from zoo.data.encoding.word_pieces import MASK, SPECIALS

MASK_ID = SPECIALS.index(MASK)
MASKED, REPLACED = 0.8, 0.1  # of the chosen tokens; the others stay as they are
FIXED = 0  # seed of the masks that are the same for every model

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Masking:
    """Which tokens are predicted.

    share: the probability of each. whole_words: choose words and not pieces, which gives every
    piece the same probability.
    """

    share: float
    whole_words: bool

    def choose(
        self, documents: Documents, vocabulary: Vocabulary, draw: np.random.Generator
    ) -> Bools:
        """Whether each token is predicted (tokens); special ones never are."""
        ids = np.asarray(documents.ids)
        if not self.whole_words:
            chosen = draw.random(len(ids)) < self.share
        else:
            begins = ~vocabulary.continues[ids]
            # A window may begin within a word: after its [CLS].
            begins[np.minimum(documents.offsets[:-1] + 1, documents.offsets[1:] - 1)] = True
            begins[documents.offsets[:-1]] = True
            chosen = (draw.random(int(begins.sum())) < self.share)[np.cumsum(begins) - 1]
        found: Bools = chosen & (ids >= FIRST_PIECE)
        return found


def noised(
    ids: npt.NDArray[np.int32], chosen: Bools, vocab_size: int, draw: np.random.Generator
) -> npt.NDArray[np.int32]:
    """The ids (tokens) as a model sees them in training (Devlin et al. 2019, section 3.1).

    Of the chosen tokens 80% are [MASK], 10% a random piece, 10% what they are.
    """
    seen = np.array(ids, dtype=np.int32)
    places = np.flatnonzero(chosen)
    kind = draw.random(len(places))
    seen[places[kind < MASKED]] = MASK_ID
    others = places[(kind >= MASKED) & (kind < MASKED + REPLACED)]
    seen[others] = draw.integers(FIRST_PIECE, vocab_size, len(others))
    return seen


@dataclass(frozen=True)
class MaskedBatch:
    """A few texts, padded to one length, some of whose tokens are to be predicted.

    ids: int (B, L), as the model sees them, padded with 0. places: int (n), where in the B · L
    tokens those to be predicted are; targets: int (n), what they are. counts: how many each text
    has (B). rows: the index of each text in its split.
    """

    ids: Tensor
    tokens: Tokens
    places: Tensor
    targets: Tensor
    counts: npt.NDArray[np.int64]
    rows: np.ndarray
    real_tokens: int
    padded_tokens: int

    @property
    def items(self) -> int:
        """The number of tokens to predict."""
        return len(self.targets)


class Masked:
    """A split with chosen tokens. seen: the ids as a model sees them; chosen: (tokens)."""

    def __init__(
        self, documents: Documents, seen: npt.NDArray[np.int32], chosen: Bools, device: torch.device
    ) -> None:
        self.device = device
        self.texts = Split(replace(documents, ids=seen), device)
        self.starts = np.asarray(documents.offsets)
        self.places = np.flatnonzero(chosen)
        self.targets = np.asarray(documents.ids)[self.places].astype(np.int64)
        self.bounds = np.searchsorted(self.places, self.starts)

    def batch(self, rows: np.ndarray) -> MaskedBatch:
        """The texts of these rows, padded to the longest of them."""
        texts = self.texts.batch(rows)
        length = texts.ids.shape[1]
        firsts, ends = self.bounds[rows], self.bounds[rows + 1]
        picked = np.concatenate([np.arange(*two) for two in zip(firsts, ends, strict=True)])
        counts = ends - firsts
        begins = np.arange(len(rows)) * length - self.starts[rows]
        places = self.places[picked] + np.repeat(begins, counts)
        return MaskedBatch(
            texts.ids,
            texts.tokens,
            self._moved(places),
            self._moved(self.targets[picked]),
            counts,
            rows,
            texts.real_tokens,
            texts.padded_tokens,
        )

    def _moved(self, array: npt.NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(array).to(self.device, non_blocking=True)


class MaskedSplit(ByLength[MaskedBatch]):
    """One split. ``shuffled`` has new masks in every epoch, ``batch`` and ``ordered`` fixed ones.

    The fixed ones are the same for every model and seed, and every chosen token is [MASK] there:
    what is scored is the probability of a token that the model does not see.
    """

    def __init__(
        self,
        documents: Documents,
        masking: Masking,
        vocabulary: Vocabulary,
        device: torch.device,
    ) -> None:
        self.documents, self.masking, self.vocabulary = documents, masking, vocabulary
        self.device = device
        self.lengths = np.asarray(documents.lengths)
        self.chosen = masking.choose(documents, vocabulary, np.random.default_rng(FIXED))
        self.hidden = np.where(self.chosen, np.int32(MASK_ID), documents.ids)
        self.fixed = Masked(documents, self.hidden, self.chosen, device)

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: np.ndarray) -> MaskedBatch:
        return self.fixed.batch(rows)

    def shuffled(
        self, batch_size: int, seed: int, epoch: int, *, by_length: bool = True
    ) -> Iterator[MaskedBatch]:
        """All texts once, in batches, an order and with masks drawn from (seed, epoch)."""
        draw = np.random.default_rng([seed, epoch, 1])  # the order has the generator without the 1
        chosen = self.masking.choose(self.documents, self.vocabulary, draw)
        ids = np.asarray(self.documents.ids)
        seen = noised(ids, chosen, len(self.vocabulary.bytes), draw)
        masked = Masked(self.documents, seen, chosen, self.device)
        for rows in shuffled_batches(self.lengths, batch_size, seed, epoch, by_length=by_length):
            yield masked.batch(rows)
