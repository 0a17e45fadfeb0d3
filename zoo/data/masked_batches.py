"""Texts with masked tokens, on the device, in batches of texts of similar length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zoo.data.batches import Batch, EncodedSplit, PaddedSplit, shuffled_rows
from zoo.data.token_arrays import TokenArrays
from zoo.data.tokenizer import FIRST_PIECE, MASK_ID

MASKED, REPLACED = 0.8, 0.1  # of the chosen tokens; the others stay as they are
FIXED = 0  # seed of the masks that are the same for every model

Bools = npt.NDArray[np.bool_]


def choose(arrays: TokenArrays, share: float, draw: np.random.Generator) -> Bools:
    """Whether each token is predicted (tokens), with this probability; special ones never are."""
    ids = np.asarray(arrays.ids)
    chosen: Bools = (draw.random(len(ids)) < share) & (ids >= FIRST_PIECE)
    return chosen


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
class MaskedBatch(Batch):
    """A few texts, some of whose tokens are to be predicted.

    ids: as the model sees them. places: int (n), where in the B · L tokens those to be predicted
    are; targets: int (n), what they are. counts: how many each text has (B).
    """

    places: Tensor
    counts: npt.NDArray[np.int64]


class MaskedSplit(EncodedSplit[MaskedBatch]):
    """Texts. ``shuffled`` has new masks in every epoch, ``batch`` and ``ordered`` fixed ones.

    The fixed ones are the same for every model and seed, and every chosen token is [MASK] there:
    what is scored is the probability of a token that the model does not see. share: of the tokens
    that are chosen. sizes: bytes of each entry of the vocabulary. chosen, hidden: of the fixed
    ones, whether each token is chosen, and the ids that a model sees (tokens).
    """

    def __init__(
        self, arrays: TokenArrays, share: float, sizes: npt.NDArray[np.int64], device: torch.device
    ) -> None:
        self.arrays, self.share, self.sizes = arrays, share, sizes
        self.device = device
        self.lengths = np.asarray(arrays.lengths)
        self.chosen = choose(arrays, share, np.random.default_rng(FIXED))
        self.hidden = np.where(self.chosen, np.int32(MASK_ID), arrays.ids)
        self._fixed = self._seen_as(self.hidden), np.flatnonzero(self.chosen)

    def batch(self, rows: np.ndarray) -> MaskedBatch:
        return self._masked(*self._fixed, rows)

    def shuffled(
        self, batch_size: int, seed: int, epoch: int, *, by_length: bool = True
    ) -> Iterator[MaskedBatch]:
        """All texts once, in batches, an order and with masks drawn from (seed, epoch)."""
        draw = np.random.default_rng([seed, epoch, 1])  # the order has the generator without the 1
        chosen = choose(self.arrays, self.share, draw)
        ids = np.asarray(self.arrays.ids)
        texts = self._seen_as(noised(ids, chosen, len(self.sizes), draw))
        places = np.flatnonzero(chosen)
        for rows in shuffled_rows(self.lengths, batch_size, seed, epoch, by_length=by_length):
            yield self._masked(texts, places, rows)

    def _seen_as(self, ids: npt.NDArray[np.int32]) -> PaddedSplit:
        return PaddedSplit(replace(self.arrays, ids=ids), self.device, None)

    def _masked(
        self, texts: PaddedSplit, places: npt.NDArray[np.int64], rows: np.ndarray
    ) -> MaskedBatch:
        """The texts of these rows as a model sees them. places: of all chosen tokens."""
        batch, offsets = texts.batch(rows), np.asarray(self.arrays.offsets)
        firsts, ends = np.searchsorted(places, [offsets[rows], offsets[rows + 1]])
        picked = places[np.concatenate([np.arange(*two) for two in zip(firsts, ends, strict=True)])]
        counts = ends - firsts
        begins = np.arange(len(rows)) * batch.ids.shape[1] - offsets[rows]
        targets = np.asarray(self.arrays.ids)[picked].astype(np.int64)
        moved_places, moved_targets = (
            torch.from_numpy(array).to(self.device, non_blocking=True)
            for array in (picked + np.repeat(begins, counts), targets)
        )
        about = vars(batch) | {"targets": moved_targets, "items": len(targets)}
        return MaskedBatch(**about, places=moved_places, counts=counts)
