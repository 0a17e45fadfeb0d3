"""Keys and values of what is decoded already, so that no step computes them again."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens


class KeyValues:
    """One attention's keys and values, as ``zoo.components.attention.base.Cache`` asks."""

    def __init__(self) -> None:
        self.kept: tuple[Tensor, Tensor, Tokens] | None = None

    def extend(self, k: Tensor, v: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor, Tokens]:
        """Take in new keys and values (B, H, L, Dh) and give back all of them, oldest first."""
        if self.kept is None:
            self.kept = k, v, tokens
        elif k.shape[-2]:
            old_k, old_v, old = self.kept
            tokens = _joined(old, tokens, old_k.shape[-2], k.shape[-2], k.shape[0])
            self.kept = torch.cat([old_k, k], dim=-2), torch.cat([old_v, v], dim=-2), tokens
        return self.kept

    def reorder(self, rows: Tensor) -> None:
        """Go on with these texts of the batch (int (B')), each as often as it is named."""
        if self.kept is not None:
            k, v, tokens = self.kept
            self.kept = k[rows], v[rows], picked(tokens, rows)


class DecoderCache:
    """For every block a store for its self-attention, and one for the memory it looks at."""

    def __init__(self, blocks: int) -> None:
        self.own = [KeyValues() for _ in range(blocks)]
        self.memory = [KeyValues() for _ in range(blocks)]

    @property
    def length(self) -> int:
        """How many tokens of each text it holds, padding among them."""
        kept = self.own[0].kept if self.own else None
        return 0 if kept is None else kept[0].shape[-2]

    def reorder(self, rows: Tensor) -> None:
        """Go on with these texts of the batch (int (B')), as beam search does."""
        for store in (*self.own, *self.memory):
            store.reorder(rows)


def picked(tokens: Tokens, rows: Tensor) -> Tokens:
    """The tokens of these texts of a batch (int (B'))."""
    attention_mask = None if tokens.attention_mask is None else tokens.attention_mask[rows]
    shared = tokens.positions.dim() == 1
    return Tokens(attention_mask, tokens.positions if shared else tokens.positions[rows])


def _joined(old: Tokens, new: Tokens, old_length: int, length: int, batch: int) -> Tokens:
    """The tokens of both, side by side; all are real where one side has no padding to tell."""
    attention_mask = None
    if old.attention_mask is not None or new.attention_mask is not None:
        device = old.positions.device
        attention_mask = torch.cat(
            [
                torch.ones(batch, each, dtype=torch.bool, device=device) if p is None else p
                for p, each in ((old.attention_mask, old_length), (new.attention_mask, length))
            ],
            dim=1,
        )
    positions = [old.positions, new.positions]
    if max(p.dim() for p in positions) == 2:
        positions = [p.expand(batch, -1) for p in positions]
    return Tokens(attention_mask, torch.cat(positions, dim=-1))
