"""The context of one layer in one pass: what its parts are given, and what they may leave."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Protocol

from torch import Tensor, nn

from zoo.components.pe.base import NO_POSITIONS, PositionalEncoding
from zoo.components.tokens import Tokens


class Cache(Protocol):
    """What one attention keeps of the tokens decoded so far."""

    def extend(self, k: Tensor, v: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor, Tokens]:
        """Append new keys and values (B, H, L, Dh) and return all of them with their tokens."""

    def state(self, owner: nn.Module) -> dict[str, Tensor]:
        """The tensors (B, …) that a module keeps between decoding steps; empty at first.

        The module reads them and puts new ones in their place. Beam search reorders their texts.
        """


@dataclass(frozen=True)
class AuxiliaryLoss:
    """A loss that a part adds to the task's: value (scalar), counted ``weight`` times."""

    name: str
    value: Tensor
    weight: float


@dataclass(frozen=True)
class LayerContext:
    """What a part of a layer is given besides its input x (B, L, D).

    tokens: of x. position: the encoding, whose rotate and bias slots attention uses.
    context, context_tokens: keys and values of an attention come from context (B, Lk, D); None:
    from x. With a cache, ``mix`` is given the tokens of all keys that the cache holds.
    cache: of this attention. It takes only what is new: x, or what it does not hold of context.
    read: the positions of L that the layer gives; None for all. It computes no others.
    memory, memory_tokens, memory_cache: for cross-attention, the encoder's output, its tokens, and
    the cache of its keys and values.
    index, count: the layer's number, from 0, and how many layers there are.
    shared: what earlier layers left for later ones, under names of their choice; empty at the
    beginning of every pass, and so at every decoding step.
    losses: where auxiliary losses are collected; None outside of training.
    """

    tokens: Tokens
    position: PositionalEncoding = NO_POSITIONS
    _: KW_ONLY
    causal: bool = False
    context: Tensor | None = None
    context_tokens: Tokens | None = None
    cache: Cache | None = None
    read: slice | None = None
    memory: Tensor | None = None
    memory_tokens: Tokens | None = None
    memory_cache: Cache | None = None
    index: int = 0
    count: int = 1
    shared: dict[str, Any] = field(default_factory=dict)
    losses: list[AuxiliaryLoss] | None = None

    @property
    def keys(self) -> Tokens:
        """The tokens of keys and values; those of queries are ``tokens``."""
        return self.tokens if self.context_tokens is None else self.context_tokens

    @property
    def rows(self) -> slice:
        """The positions of L that the layer gives: those in ``read``, or all."""
        return slice(None) if self.read is None else self.read

    def for_rows(self) -> LayerContext:
        """The context of a part whose x has only the positions in ``read``."""
        return self if self.read is None else replace(self, tokens=self.tokens[self.read])

    def state(self, owner: nn.Module) -> dict[str, Tensor]:
        """As ``Cache.state``; where there is no cache, a new and empty dict that nobody keeps."""
        return {} if self.cache is None else self.cache.state(owner)

    def add_loss(self, name: str, value: Tensor, weight: float = 1.0) -> None:
        """Add weight · value (scalar) to the loss that is trained on; nothing outside of training.

        Tables show the unweighted value under this name, the mean over all layers that add it.
        """
        if self.losses is not None:
            self.losses.append(AuxiliaryLoss(name, value, weight))

    def scoped(self, name: str, **changes: Any) -> LayerContext:
        """The context with other fields and with ``shared[name]``, a dict, as its ``shared``.

        For a part that calls others of a kind that is already there, whose names would clash.
        """
        return replace(self, shared=self.shared.setdefault(name, {}), **changes)
