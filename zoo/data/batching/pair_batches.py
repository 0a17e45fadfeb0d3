"""Pairs on the device, and batches of pairs with sources of similar length."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.data.batching.document_batches import ByLength, Split
from zoo.data.encoding.encoded_documents import joined
from zoo.data.encoding.encoded_pairs import EncodedPairs


@dataclass(frozen=True)
class PairBatch:
    """A few pairs, both sides padded with 0.

    source: int (B, Ls). written, next: int (B, Lt), the decoder's input and its targets, the
    token after each. items: the number of targets. real_tokens, padded_tokens: of both sides.
    """

    source: Tensor
    source_tokens: Tokens
    written: Tensor
    written_tokens: Tokens
    next: Tensor
    rows: np.ndarray
    items: int
    real_tokens: int
    padded_tokens: int


class PairSplit(ByLength[PairBatch]):
    """One split, or several as one, on the device, batched by the length of the source."""

    def __init__(
        self, encoded: EncodedPairs, split: str | Sequence[str], device: torch.device
    ) -> None:
        splits = [split] if isinstance(split, str) else split
        self.source = Split(joined([encoded.side(s, "source") for s in splits]), device)
        self.target = Split(joined([encoded.side(s, "target") for s in splits]), device)
        self.texts = [text for one in splits for text in encoded.targets(one)]
        self.lengths = self.source.lengths

    def __len__(self) -> int:
        return len(self.source)

    def subset(self, rows: np.ndarray) -> PairSplit:
        """Only these pairs, in this order."""
        part = copy.copy(self)
        part.source, part.target = self.source.subset(rows), self.target.subset(rows)
        part.lengths = part.source.lengths
        part.texts = [self.texts[row] for row in rows]
        return part

    def batch(self, rows: np.ndarray) -> PairBatch:
        """The pairs of these rows, padded to the longest of them."""
        source, target = self.source.batch(rows), self.target.batch(rows)
        items = target.real_tokens - len(rows)  # START is no target
        attention_mask = target.tokens.attention_mask
        # A token is an input where another follows it: the END of a shorter target is not.
        real = None if attention_mask is None else attention_mask[:, 1:]
        return PairBatch(
            source.ids,
            source.tokens,
            target.ids[:, :-1],
            replace(target.tokens[:-1], attention_mask=real),
            target.ids[:, 1:],
            rows,
            items,
            source.real_tokens + items,
            source.padded_tokens + target.padded_tokens - len(rows),
        )
