"""The context of one layer in one pass: what its parts are given, and what they may leave."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from torch import Tensor, nn

from zoo.components.pe.base import PositionalEncoding
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
    """What a layer is given besides x (B, L, D).

    tokens: of x. position: the encoding, whose rotate and bias slots attention uses.
    read: the positions of L that the caller reads; None for all. A layer computes no others.
    memory, memory_tokens: the encoder's output and its tokens, for cross-attention.
    cache, memory_cache: of self-attention and of cross-attention. Both take only what is new:
    x, and memory where memory_cache does not hold it yet.
    index, count: the layer's number, from 0, and how many layers there are.
    shared: what earlier layers left for later ones, under names of their choice; empty at the
    beginning of every pass, and so at every decoding step.
    losses: where auxiliary losses are collected; None outside of training.
    """

    tokens: Tokens
    position: PositionalEncoding
    causal: bool = False
    read: slice | None = None
    cache: Cache | None = None
    memory: Tensor | None = None
    memory_tokens: Tokens | None = None
    memory_cache: Cache | None = None
    index: int = 0
    count: int = 1
    shared: dict[str, Any] = field(default_factory=dict)
    losses: list[AuxiliaryLoss] | None = None

    @property
    def rows(self) -> slice:
        """The positions of L that the layer computes: those in ``read``, or all."""
        return slice(None) if self.read is None else self.read

    @property
    def out_tokens(self) -> Tokens:
        """The tokens of the layer's output, which are what a feed-forward network sees."""
        return self.tokens if self.read is None else self.tokens[self.read]

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


def with_layer(part: object, method: str, layer: LayerContext) -> dict[str, LayerContext]:
    """The keyword ``layer`` for a call of this method, where it has a parameter of that name.

    So a part asks for the context by naming it: ``def forward(self, x, layer)``.
    """
    function = getattr(type(part), method)
    while hasattr(function, "__wrapped__"):  # a decorator's
        function = function.__wrapped__
    # Not inspect.signature, which torch.compile cannot trace.
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {"layer": layer} if "layer" in names else {}
