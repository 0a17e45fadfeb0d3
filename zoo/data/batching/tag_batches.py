"""Tagged texts on the device, and batches of texts of similar length."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.data.batching.document_batches import ByLength, Split
from zoo.data.encoding.encoded_documents import Documents
from zoo.data.sources.corpus import IGNORED


@dataclass(frozen=True)
class TagBatch:
    """A few texts, padded to one length.

    ids: int (B, L), padded with 0; tags: int (B, L), ``IGNORED`` where nothing is scored. rows: the
    index of each in its split. items: the number of tags that are scored.
    """

    ids: Tensor
    tags: Tensor
    tokens: Tokens
    rows: np.ndarray
    items: int
    real_tokens: int
    padded_tokens: int


class TagSplit(ByLength[TagBatch]):
    """One split, held on the device. texts, tags: its ids, and the tag of each id in their place.

    scored: how many tags of each text are scored (texts).
    """

    def __init__(self, texts: Documents, tags: Documents, device: torch.device) -> None:
        self.texts, self.tags = Split(texts, device), Split(tags, device)
        self.lengths = self.texts.lengths
        before = np.concatenate([[0], np.cumsum(np.asarray(tags.ids) != IGNORED)])
        self.scored = np.diff(before[np.asarray(tags.offsets)])

    def __len__(self) -> int:
        return len(self.texts)

    def subset(self, rows: np.ndarray) -> TagSplit:
        """Only these texts, in this order."""
        part = copy.copy(self)
        part.texts, part.tags = self.texts.subset(rows), self.tags.subset(rows)
        part.lengths, part.scored = part.texts.lengths, self.scored[rows]
        return part

    def batch(self, rows: np.ndarray) -> TagBatch:
        """The texts of these rows, padded to the longest of them."""
        texts, tags = self.texts.batch(rows), self.tags.batch(rows).ids
        mask = texts.tokens.attention_mask
        return TagBatch(
            texts.ids,
            tags if mask is None else tags.masked_fill(~mask, IGNORED),
            texts.tokens,
            rows,
            int(self.scored[rows].sum()),
            texts.real_tokens,
            texts.padded_tokens,
        )
