"""Which tokens of a batch are real, and their positions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from zoo.components.one_pass import once


@dataclass(frozen=True)
class Packing:
    """Texts of a batch one after another in a row without padding (1, T), and how they were.

    offsets: int (B + 1), where each text begins in the row, and its end. places: int (T), which of
    the B · L tokens are real. padded: the tokens of the batch (B, L).
    """

    offsets: Tensor
    places: Tensor
    padded: Tokens

    def pack(self, x: Tensor) -> Tensor:
        """The real tokens of x (B, L, …): (1, T, …)."""
        return x.flatten(0, 1).index_select(0, self.places)[None]

    def pad(self, x: Tensor) -> Tensor:
        """The batch (B, L, …) of x (1, T, …), zero where there is padding."""
        mask = self.padded.attention_mask
        assert mask is not None
        empty = x.new_zeros(mask.numel(), *x.shape[2:])
        return empty.index_copy(0, self.places, x[0]).view(*mask.shape, *x.shape[2:])


@dataclass(frozen=True)
class Tokens:
    """Which tokens are real, and where each stands in its text.

    attention_mask: bool (B, L), True where a token is real; None where every token is.
    positions: int (L) or (B, L), counted from 0.
    in_order: it is known that positions increase strictly along L, and that a text's padding stands
    behind it. Looking would make the host wait for the device.
    counted: a mask, and how many tokens are real in it: said of ``attention_mask`` only where it is
    this very tensor.
    packing: of what texts a row consists that is no text itself; None otherwise. Parts that compare
    tokens get ``packing.padded`` instead, but for an attention that ``takes_packed``.
    """

    attention_mask: Tensor | None
    positions: Tensor
    in_order: bool = False
    counted: tuple[Tensor, int] | None = None
    packing: Packing | None = None

    @property
    def real_tokens(self) -> int | None:
        """How many tokens are real, where there is padding and the host knows how much."""
        if self.counted is None or self.counted[0] is not self.attention_mask:
            return None
        return self.counted[1]

    def packed(self) -> Tokens:
        """The real ones in a row (1, T); as they are where none is padding, or nobody counted."""
        mask, real = self.attention_mask, self.real_tokens
        if mask is None or real is None or not self.in_order:
            return self
        packing = Packing(*once(offsets_and_places, mask, real), self)
        positions = packing.pack(self.positions.expand(mask.shape))
        return Tokens(None, positions, packing=packing)

    @classmethod
    def whole(cls, length: int, device: torch.device | str | None = None) -> Tokens:
        """Texts of one length without padding, at positions 0 .. length - 1."""
        return cls(None, torch.arange(length, device=device), in_order=True)

    @classmethod
    def of(cls, attention_mask: Tensor) -> Tokens:
        """Texts with padding anywhere: attention_mask (B, L) is true, or 1, where a token is real.

        Positions count real tokens.
        """
        real = attention_mask.bool()
        return cls(real, (real.cumsum(dim=1) - 1).clamp_min(0))

    def __getitem__(self, rows: slice) -> Tokens:
        """The tokens at some positions of L."""
        attention_mask = None if self.attention_mask is None else self.attention_mask[:, rows]
        return replace(self, attention_mask=attention_mask, positions=self.positions[..., rows])

    def select(self, texts: Tensor) -> Tokens:
        """The tokens of these texts of the batch (int (B'))."""
        attention_mask = None if self.attention_mask is None else self.attention_mask[texts]
        positions = self.positions if self.positions.dim() == 1 else self.positions[texts]
        return replace(self, attention_mask=attention_mask, positions=positions)


def offsets_and_places(mask: Tensor, real: int) -> tuple[Tensor, Tensor]:
    """Where texts of real tokens alone begin (B + 1), and the places of these in B · L (real).

    mask: bool (B, L), True where a token is real. real: how many are, known to the host, which so
    need not wait for the device.
    """
    offsets = torch.nn.functional.pad(mask.sum(dim=1).cumsum(dim=0), (1, 0))
    places = mask.flatten().to(torch.uint8).argsort(descending=True, stable=True)[:real]
    return offsets, places


def may_attend(queries: Tokens, keys: Tokens, causal: bool) -> Tensor | None:
    """Which keys each query may attend to: bool, broadcastable to (B, H, Lq, Lk); None for all.

    A query with no key left (in an empty document) may attend to every key instead: its output is
    never read, and a softmax over nothing would be NaN.
    """
    mask = None
    if keys.attention_mask is not None:
        mask = keys.attention_mask[:, None, None, :]  # (B, 1, 1, Lk)
    if causal:
        past = keys.positions[..., None, :] <= queries.positions[..., :, None]  # (..., Lq, Lk)
        past = past[:, None] if past.dim() == 3 else past
        mask = past if mask is None else mask & past
    if mask is None:
        return None
    return mask | ~mask.any(dim=-1, keepdim=True)


def only_causal(queries: Tokens, keys: Tokens) -> bool:
    """Whether a causal mask is the lower triangle, known without asking the device.

    That is so for a whole sequence that attends to itself, without padding and in order. Kernels
    then need no (Lq, Lk) mask.
    """
    return queries is keys and keys.in_order and keys.attention_mask is None


def past_tokens(
    x: Tensor, tokens: Tokens, count: int, state: dict[str, Tensor], name: str = "past"
) -> Tensor:
    """Each token of x (B, L, D) with the ``count`` real ones before it: (B, L, count + 1, D).

    Oldest first, itself last; zeros where there are none. Padding may stand anywhere: it is
    skipped, and zero in the result.
    state: of ``LayerContext.state`` or ``Cache.state``; decoding continues where it ended, under
    this name.
    """
    mask = tokens.attention_mask
    if mask is not None:
        x = x.masked_fill(~mask[..., None], 0)
    earlier = state.get(name)
    if earlier is None:
        earlier = x.new_zeros(len(x), count, x.shape[-1])
    x = torch.cat([earlier, x], dim=1)  # (B, count + L, D)
    if mask is not None:
        real = torch.cat([mask.new_ones(len(mask), count), mask], dim=1)
        # Padding first, then the real tokens in their order.
        order = real.to(torch.uint8).argsort(dim=1, stable=True)
        x = x.take_along_dim(order[..., None], dim=1)
    state[name] = x[:, x.shape[1] - count :]
    windows = x.unfold(1, count + 1, 1).movedim(-1, 2)  # (B, L, count + 1, D)
    if mask is None:
        return windows
    place = (~mask).sum(dim=1, keepdim=True) + mask.cumsum(dim=1) - 1  # (B, L), of real tokens
    windows = windows.take_along_dim(place[..., None, None].clamp_min(0), dim=1)
    return windows.masked_fill(~mask[..., None, None], 0)
