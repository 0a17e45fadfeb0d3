"""Documents on the device, and batches of documents of similar length or of random ones."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.data.encoding.encoded_documents import Documents

B = TypeVar("B")
PAD = 0
NOISE = 0.02  # of the log of a length; more shuffles more and pads more: 8% padding at 0.1


@dataclass(frozen=True)
class Batch:
    """A few documents, padded to one length.

    ids: int (B, L), padded with 0; labels: int (B); rows: the index of each in its split.
    real_tokens and padded_tokens count without and with padding.
    """

    ids: Tensor
    tokens: Tokens
    labels: Tensor
    rows: np.ndarray
    real_tokens: int
    padded_tokens: int

    @property
    def items(self) -> int:
        """The number of labels to predict."""
        return len(self.rows)


class ByLength(ABC, Generic[B]):
    """Goes through a split in batches of similar length, or in random ones."""

    lengths: np.ndarray  # (N), tokens of each item

    @abstractmethod
    def batch(self, rows: np.ndarray) -> B:
        """The items at these indices."""

    def shuffled(
        self, batch_size: int, seed: int, epoch: int, *, by_length: bool = True
    ) -> Iterator[B]:
        """All items once, in batches and an order drawn from (seed, epoch)."""
        for rows in shuffled_batches(self.lengths, batch_size, seed, epoch, by_length=by_length):
            yield self.batch(rows)

    def ordered(self, batch_size: int) -> Iterator[B]:
        """All items once, longest first, for evaluation."""
        for rows in in_batches(np.argsort(-self.lengths, kind="stable"), batch_size):
            yield self.batch(rows)


class Split(ByLength[Batch]):
    """One split, held on the device, so that no step copies texts from the host."""

    def __init__(self, documents: Documents, device: torch.device) -> None:
        self.device = device
        self.lengths = np.diff(documents.offsets)  # (N), tokens per document
        self.ids = torch.from_numpy(np.array(documents.ids, dtype=np.int64)).to(device)
        self.starts = torch.from_numpy(np.array(documents.offsets[:-1])).to(device)
        self.labels = torch.from_numpy(np.array(documents.labels, dtype=np.int64)).to(device)
        self._lengths = torch.from_numpy(self.lengths.copy()).to(device)

    def __len__(self) -> int:
        return len(self.lengths)

    def subset(self, rows: np.ndarray) -> Split:
        """Only these documents, in this order."""
        part = copy.copy(self)
        picked = torch.from_numpy(rows).to(self.device)
        part.lengths = self.lengths[rows]
        part.starts, part.labels = self.starts[picked], self.labels[picked]
        part._lengths = self._lengths[picked]
        return part

    def batch(self, rows: np.ndarray) -> Batch:
        """The documents of these rows, padded to the longest of them."""
        lengths = self.lengths[rows]
        longest = int(lengths.max())
        picked = torch.from_numpy(rows).to(self.device, non_blocking=True)
        tokens = Tokens.whole(longest, self.device)
        places = (self.starts[picked, None] + tokens.positions).clamp_max(len(self.ids) - 1)
        ids = self.ids[places]
        if int(lengths.min()) < longest:
            attention_mask = tokens.positions < self._lengths[picked, None]
            tokens = replace(tokens, attention_mask=attention_mask)
            ids = ids.masked_fill(~attention_mask, PAD)
        real = int(lengths.sum())
        return Batch(ids, tokens, self.labels[picked], rows, real, longest * len(rows))


def padded(documents: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tokens]:
    """Token ids of a few texts: int (B, L), padded with 0, and their tokens."""
    lengths = [len(ids) for ids in documents]
    longest = max(lengths)
    rows = [[*ids, *[PAD] * (longest - len(ids))] for ids in documents]
    tokens = Tokens.whole(longest, device)
    if min(lengths) < longest:
        attention_mask = tokens.positions < torch.tensor(lengths, device=device)[:, None]
        tokens = replace(tokens, attention_mask=attention_mask)
    return torch.tensor(rows, device=device), tokens


def in_batches(rows: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """The rows in their order, cut into batches; the last may be smaller."""
    return [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]


def shuffled_batches(
    lengths: np.ndarray, batch_size: int, seed: int, epoch: int, *, by_length: bool = True
) -> list[np.ndarray]:
    """Indices in batches: random ones, or sorted by length plus some noise, then shuffled.

    Without the noise every epoch would put the same documents into one batch.
    """
    draw = np.random.default_rng([seed, epoch])
    if not by_length:
        return in_batches(draw.permutation(len(lengths)), batch_size)
    noisy = lengths * np.exp(draw.uniform(-NOISE, NOISE, len(lengths)))
    batches = in_batches(np.argsort(noisy, kind="stable"), batch_size)
    return [batches[i] for i in draw.permutation(len(batches))]
