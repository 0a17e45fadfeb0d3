"""The base class of all peers: another library's encoder with the cells' pool and head."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.pool.base import Pool
from zoo.components.pool.pools import Cls, Mean
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.errors import ComponentError, one_line
from zoo.models.architectures import classification_head
from zoo.models.stack import ScaledEmbedding

POOLS: dict[str, type[Pool]] = {"mean": Mean, "cls": Cls}


class Peer(nn.Module, ABC):
    """A classifier whose encoder is another library's; a subclass implements ``encode``.

    Pool and head are those of the cells, so that results differ by the encoder only.
    Raises ValueError where width and heads do not fit, or the pool is unknown.
    """

    def __init__(
        self, *, classes: int, sizes: Sizes, dropout: float, pool: str, head_hidden: int
    ) -> None:
        super().__init__()
        one_of("pool", pool, POOLS)
        if sizes.dim % sizes.heads:
            raise ValueError(f"width {sizes.dim} does not divide into {sizes.heads} heads")
        self.pool = POOLS[pool](sizes.dim)
        self.head_hidden = head_hidden
        self.head = classification_head(sizes.dim, head_hidden, classes, dropout)

    @abstractmethod
    def encode(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to vectors (B, L, D); those of padding are ignored."""

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to logits (B, classes)."""
        logits: Tensor = self.head(self.pool(self.encode(ids, tokens), tokens.attention_mask))
        return logits


class Embeds(Protocol):
    """Adds positions to embeddings; the zoo's encodings do."""

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, L, D), positions (L) or (B, L)."""


class Embedded(nn.Module):
    """The cells' embedding, for encoders that have none.

    position: what is added to the embeddings, or None for nothing.
    """

    def __init__(self, vocab_size: int, dim: int, position: Embeds | None, dropout: float) -> None:
        super().__init__()
        self.embedding = ScaledEmbedding(vocab_size, dim)
        self.position, self.dropout = position, dropout

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Ids (B, L) and positions (L) or (B, L) to vectors (B, L, D)."""
        x = self.embedding(ids)
        if self.position is not None:
            x = self.position.embed(x, positions)
        return F.dropout(x, self.dropout, self.training)


def key_mask(tokens: Tokens) -> Tensor | None:
    """Which keys a text's queries may attend to: bool (B, L), or None for all.

    An empty text may attend to every position: its output is never read, and a softmax over
    nothing would be NaN in some kernels.
    """
    if tokens.attention_mask is None:
        return None
    return tokens.attention_mask | ~tokens.attention_mask.any(dim=1, keepdim=True)


def one_of(what: str, value: str, known: Iterable[str]) -> None:
    """ValueError where the value is not one of the known ones."""
    if value not in known:
        raise ValueError(f"{what} must be one of {', '.join(known)}, not {value!r}")


def library(module: str, baseline: str, extra: str) -> Any:
    """The module of an optional dependency; ComponentError naming the extra where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ComponentError(
            f"baseline '{baseline}' needs {module}, which cannot be imported "
            f"({one_line(error)}): pip install 'zoo-peers[{extra}]'"
        ) from error
