"""A long sequence of tokens cut into blocks, batched without padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.data.batching.document_batches import in_batches


@dataclass(frozen=True)
class BlockBatch:
    """A few blocks: ids and targets int (B, L), where a target is the token after its id.

    rows: the index of each block.
    """

    ids: Tensor
    targets: Tensor
    tokens: Tokens
    rows: np.ndarray

    @property
    def items(self) -> int:
        """The number of targets; without padding it is also that of all tokens."""
        return self.ids.numel()

    real_tokens = padded_tokens = items


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
        whole, rest = divmod(len(ids) - 1, length)
        self.lengths = np.array([length] * whole + [rest] * (short and rest > 0), dtype=np.int64)
        self.starts = np.arange(len(self.lengths), dtype=np.int64) * length

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: np.ndarray) -> BlockBatch:
        """These blocks, which must have one length."""
        length = int(self.lengths[rows[0]])
        assert (self.lengths[rows] == length).all()
        starts = torch.from_numpy(self.starts[rows]).to(self.device, non_blocking=True)
        tokens = Tokens.whole(length, self.device)
        places = starts[:, None] + tokens.positions
        return BlockBatch(self.ids[places], self.ids[places + 1], tokens, rows)

    def shuffled(
        self, batch_size: int, seed: int, epoch: int, *, by_length: bool = True
    ) -> Iterator[BlockBatch]:
        """All blocks once, in an order drawn from (seed, epoch); by_length changes nothing."""
        order = np.random.default_rng([seed, epoch]).permutation(len(self))
        yield from self._batches(order, batch_size)

    def ordered(self, batch_size: int) -> Iterator[BlockBatch]:
        """All blocks once, in their order."""
        yield from self._batches(np.arange(len(self)), batch_size)

    def _batches(self, order: np.ndarray, batch_size: int) -> Iterator[BlockBatch]:
        for length in sorted(set(self.lengths.tolist()), reverse=True):
            same = order[self.lengths[order] == length]
            for rows in in_batches(same, batch_size):
                yield self.batch(rows)
