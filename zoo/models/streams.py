"""A random stream per member of an ensemble, so that each draws what it would draw alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components import dropout as own
from zoo.components.tokens import Tokens
from zoo.models.folding import at_once, replaced

_NATIVE_DROPOUT: Callable[..., Tensor] = F.dropout
_NATIVE_ATTENTION: Callable[..., Tensor] = F.scaled_dot_product_attention

Size = tuple[int, int]  # texts and tokens of a batch


class ApartError(Exception):
    """These modules cannot run as one program that equals running each: why, in one line."""


@dataclass(frozen=True)
class Axis:
    """One dimension of a tensor: ``size`` itself, or ``size`` for each text or token."""

    per: Literal["tensor", "text", "token"]
    size: int

    def at(self, size: Size) -> int:
        """How long it is for a batch of this size."""
        return self.size * {"tensor": 1, "text": size[0], "token": size[1]}[self.per]


@dataclass(frozen=True)
class Layout:
    """A tensor's dimensions, and their order in memory, outermost first: draws follow it."""

    axes: tuple[Axis, ...]
    order: tuple[int, ...]

    def at(self, size: Size) -> list[int]:
        """The shape for a batch of this size."""
        return [axis.at(size) for axis in self.axes]

    def ones(self, like: Tensor, size: Size) -> Tensor:
        """Ones of type and device of a tensor, in this layout, for a batch of this size."""
        shape = self.at(size)
        places = [self.order.index(dim) for dim in range(len(shape))]
        return like.new_ones([shape[dim] for dim in self.order]).permute(places)


def random_state(device: torch.device) -> list[Tensor]:
    """The state of the generators that dropout on a device may draw from."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    elif device.type == "mps":
        states.append(torch.mps.get_rng_state())
    return states


def set_random_state(device: torch.device, states: Sequence[Tensor]) -> None:
    """Bring the generators of ``random_state`` into a state."""
    torch.set_rng_state(states[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)
    elif device.type == "mps":
        torch.mps.set_rng_state(states[1])


@contextlib.contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """Leave the generators as they were."""
    before = random_state(device)
    try:
        yield
    finally:
        set_random_state(device, before)


class Streams:
    """torch's generators in one state per member.

    seeds: what ``torch.manual_seed`` is given where a member trains alone.
    """

    def __init__(self, seeds: Sequence[int], device: torch.device) -> None:
        self.device = device
        self.states = []
        with undisturbed(device):
            for seed in seeds:
                torch.manual_seed(seed)
                self.states.append(random_state(device))

    def each(self, draw: Callable[[int], Tensor]) -> list[Tensor]:
        """What ``draw(member)`` gives, drawn from each member's stream."""
        drawn = []
        with undisturbed(self.device):
            for member, state in enumerate(self.states):
                set_random_state(self.device, state)
                drawn.append(draw(member))
                self.states[member] = random_state(self.device)
        return drawn

    @contextlib.contextmanager
    def of(self, member: int) -> Iterator[None]:
        """Draw from the stream of one member."""
        with undisturbed(self.device):
            set_random_state(self.device, self.states[member])
            yield
            self.states[member] = random_state(self.device)


class Dropout:
    """``F.dropout`` in an ensemble's forward pass: for each member the draws it has alone.

    layouts: of what is dropped from, call by call, as ``dropout_layouts`` finds them.
    sizes: of each member's own batch; what the ensemble pads beyond it is no member's to draw.
    """

    def __init__(
        self, streams: Streams, layouts: Sequence[Layout], sizes: Sequence[Size], member: Tensor
    ) -> None:
        self.streams, self.sizes, self.member = streams, sizes, member
        self.common = max(b for b, _ in sizes), max(n for _, n in sizes)
        self._left = iter(layouts)

    def __call__(
        self, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        """See ``torch.nn.functional.dropout``."""
        if not training or p == 0:
            return x
        if inplace:
            raise ApartError("it drops out in place")
        return self._dropped(x, p, _NATIVE_DROPOUT)

    def ours(self, x: Tensor, p: float) -> Tensor:
        """See ``zoo.components.dropout``."""
        return self._dropped(x, p, own.alone)

    def _dropped(self, x: Tensor, p: float, native: Callable[..., Tensor]) -> Tensor:
        layout = next(self._left, None)
        if layout is None or list(x.shape) != layout.at(self.common):
            raise ApartError("what it drops out from follows neither the texts nor the tokens")
        return at_once(lambda stack: stack * self._noise(stack, p, layout, native), self.member, x)

    def _noise(
        self, stack: Tensor, p: float, layout: Layout, native: Callable[..., Tensor]
    ) -> Tensor:
        """What to multiply (S, …) by: 0 or 1 / (1 - p), drawn at each member's own size."""

        def draw(member: int) -> Tensor:
            return native(layout.ones(stack, self.sizes[member]), p)

        drawn = self.streams.each(draw)
        for member, one in enumerate(drawn):
            missing = [n - m for n, m in zip(stack.shape[1:], one.shape, strict=True)]
            if any(missing):
                drawn[member] = F.pad(one, [side for n in reversed(missing) for side in (0, n)])
        return torch.stack(drawn)


def dropout_layouts(model: nn.Module, max_length: int, device: torch.device) -> list[Layout]:
    """What the model drops out from in training, call by call.

    Found by running it on batches of three sizes. Raises ApartError where a shape follows
    neither the number of texts nor that of tokens.
    """
    length = max(1, min(5, max_length - 1))
    sizes = [(2, length), (3, length), (2, min(length + 1, max_length))]
    seen = [_dropped(model, size, device) for size in sizes]
    if len({tuple(order for _, order in calls) for calls in seen}) > 1:
        raise ApartError("how it drops out hangs on the size of the batch")
    return [
        Layout(tuple(_axis(dims, sizes) for dims in zip(*shapes, strict=True)), orders[0])
        for shapes, orders in (zip(*three, strict=True) for three in zip(*seen, strict=True))
    ]


def in_memory(x: Tensor) -> list[int]:
    """The dimensions, outermost in memory first."""
    strides = x.stride()
    return sorted(range(x.dim()), key=lambda dim: -strides[dim])


Seen = tuple[tuple[int, ...], tuple[int, ...]]  # a shape, and its dimensions outermost first


def _dropped(model: nn.Module, size: Size, device: torch.device) -> list[Seen]:
    """What the model drops out from for a batch of one size."""
    seen: list[Seen] = []

    def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if training and p > 0:
            seen.append((tuple(x.shape), tuple(in_memory(x))))
        return _NATIVE_DROPOUT(x, p, training, inplace)

    def ours(x: Tensor, p: float) -> Tensor:
        order = range(x.dim()) if x.device.type == "cpu" else in_memory(x)
        seen.append((tuple(x.shape), tuple(order)))
        return own.alone(x, p)

    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        *args: Any,
        **options: Any,
    ) -> Tensor:
        if dropout_p > 0:
            shape = (*query.shape[:-1], key.shape[-2])
            seen.append((shape, tuple(range(len(shape)))))
        return _NATIVE_ATTENTION(query, key, value, attn_mask, dropout_p, *args, **options)

    ids = torch.ones(size, dtype=torch.long, device=device)
    tokens = Tokens(ids.bool(), torch.arange(size[1], device=device))
    was_training = model.training
    model.train()
    try:
        with (
            torch.no_grad(),
            undisturbed(device),
            replaced(ours, dropout=dropout, scaled_dot_product_attention=attention),
        ):
            model(ids, tokens)
    finally:
        model.train(was_training)
    return seen


def _axis(lengths: Sequence[int], sizes: Sequence[Size]) -> Axis:
    """The dimension that has these lengths for batches of these sizes."""
    first, (texts, tokens) = lengths[0], sizes[0]
    for axis in (
        Axis("tensor", first),
        Axis("text", first // texts),
        Axis("token", first // tokens),
    ):
        if [axis.at(size) for size in sizes] == list(lengths):
            return axis
    raise ApartError("what it drops out from follows neither the texts nor the tokens")
