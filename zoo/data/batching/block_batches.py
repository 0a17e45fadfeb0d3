"""A long sequence of tokens cut into blocks, batched without padding."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zoo.components.tokens import Tokens


@dataclass(frozen=True)
class BlockBatch:
    """A few blocks: ids and targets int (B, L), where a target is the token after its id.

    items: the number of targets. rows: the index of each block. real_tokens and padded_tokens are
    equal, as there is no padding.
    """

    ids: Tensor
    targets: Tensor
    tokens: Tokens
    rows: np.ndarray
    items: int
    real_tokens: int
    padded_tokens: int


class Blocks:
    """A sequence on the device, cut into blocks of ``length`` tokens and their targets.

    The last target of a block is the first token of the next: every token of the sequence but its
    first is a target once. short: whether what is left at the end is a shorter block, as scoring
    needs; training leaves it out.
    """

    def __init__(
        self, ids: npt.NDArray[np.int32], length: int, device: torch.device, *, short: bool
    ) -> None:
        self.device = device
        self.ids = torch.from_numpy(np.array(ids, dtype=np.int64)).to(device)
        targets = len(ids) - 1
        whole, rest = divmod(targets, length)
        self.lengths = np.full(whole, length, dtype=np.int64)
        if short and rest:
            self.lengths = np.append(self.lengths, rest)
        self.starts = np.arange(len(self.lengths), dtype=np.int64) * length

    def __len__(self) -> int:
        return len(self.lengths)

    def subset(self, rows: np.ndarray) -> Blocks:
        """Only these blocks, in this order."""
        part = copy.copy(self)
        part.lengths, part.starts = self.lengths[rows], self.starts[rows]
        return part

    def batch(self, rows: np.ndarray) -> BlockBatch:
        """These blocks, which must have one length."""
        length = int(self.lengths[rows[0]])
        assert (self.lengths[rows] == length).all()
        starts = torch.from_numpy(self.starts[rows]).to(self.device, non_blocking=True)
        tokens = Tokens.whole(length, self.device)
        places = starts[:, None] + tokens.positions
        items = length * len(rows)
        return BlockBatch(
            self.ids[places],
            self.ids[places + 1],
            tokens,
            rows,
            items,
            items,
            items,
        )

    def shuffled(self, batch_size: int, seed: int, epoch: int) -> Iterator[BlockBatch]:
        """All blocks once, in an order drawn from (seed, epoch)."""
        order = np.random.default_rng([seed, epoch]).permutation(len(self))
        yield from self._batches(order, batch_size)

    def ordered(self, batch_size: int) -> Iterator[BlockBatch]:
        """All blocks once, in their order."""
        yield from self._batches(np.arange(len(self)), batch_size)

    def _batches(self, order: np.ndarray, batch_size: int) -> Iterator[BlockBatch]:
        for length in sorted(set(self.lengths.tolist()), reverse=True):
            same = order[self.lengths[order] == length]
            for start in range(0, len(same), batch_size):
                yield self.batch(same[start : start + batch_size])
