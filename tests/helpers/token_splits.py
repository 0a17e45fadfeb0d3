"""Texts of random token ids, as the trainer reads them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from zoo.components.tokens import Tokens
from zoo.data.batches import MaskedSplit, PaddedSplit, PairSplit
from zoo.data.token_arrays import TokenArrays
from zoo.training.device import Runtime

RUNTIME = Runtime(torch.device("cpu"), "fp32")


def documents(lengths: Sequence[int], classes: int = 3) -> TokenArrays:
    """Texts of these lengths with ids from 2 to 39, and classes in turns."""
    draw = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = draw.integers(2, 40, offsets[-1]).astype(np.int32)
    return TokenArrays(ids, offsets, {"labels": np.arange(len(lengths), dtype=np.int64) % classes})


def split(lengths: Sequence[int], device: torch.device = RUNTIME.device) -> PaddedSplit:
    """Those texts, from which batches are made."""
    return PaddedSplit(documents(lengths), device)


def task_split(task: str, device: torch.device = RUNTIME.device) -> Any:
    """Texts of several lengths, as a task reads them."""
    arrays = documents([5 + 3 * i % 19 for i in range(16)])
    if task == "classify":
        return PaddedSplit(arrays, device)
    if task == "tag":
        tags = {"tags": np.arange(len(arrays.ids)) % 3}
        return PaddedSplit(dataclasses.replace(arrays, columns=tags), device, "tags")
    if task == "mlm":
        return MaskedSplit(arrays, 0.3, np.ones(50, dtype=np.int64), device)
    pairs = object.__new__(PairSplit)  # of data that are encoded texts
    pairs.source, pairs.target = (PaddedSplit(arrays, device, None) for _ in range(2))
    pairs.lengths = pairs.source.lengths
    return pairs


class Bag(nn.Module):
    """The mean embedding of real tokens, with dropout."""

    def __init__(self, dropout: float = 0.2) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.embedding = nn.Embedding(40, 8)
        self.head = nn.Linear(8, 3)
        self.dropout = dropout

    def forward(self, ids: torch.Tensor, tokens: Tokens) -> torch.Tensor:
        x = functional.dropout(self.embedding(ids), self.dropout, self.training)
        if tokens.attention_mask is None:
            return self.head(x.mean(dim=1))
        real = tokens.attention_mask[..., None].float()
        return self.head((x * real).sum(dim=1) / real.sum(dim=1))
