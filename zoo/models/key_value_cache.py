"""What is kept of the tokens decoded so far, so that no step computes it again."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens


class KeyValues:
    """One attention's keys and values, and states; a ``zoo.components.layer_context.Cache``."""

    def __init__(self) -> None:
        self.stored: tuple[Tensor, Tensor, Tokens] | None = None
        self.states: dict[nn.Module, dict[str, Tensor]] = {}

    def state(self, owner: nn.Module) -> dict[str, Tensor]:
        """The tensors (B, …) that a module keeps between decoding steps; empty at first."""
        return self.states.setdefault(owner, {})

    def extend(self, k: Tensor, v: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor, Tokens]:
        """Append new keys and values (B, H, L, Dh) and return all of them, oldest first."""
        if self.stored is None:
            self.stored = k, v, tokens
        elif k.shape[-2]:
            old_k, old_v, old = self.stored
            tokens = _joined(old, tokens, old_k.shape[-2], k.shape[-2], k.shape[0])
            self.stored = torch.cat([old_k, k], dim=-2), torch.cat([old_v, v], dim=-2), tokens
        return self.stored

    def select(self, texts: Tensor) -> None:
        """Continue with these texts of the batch (int (B')), each as often as it is named."""
        if self.stored is not None:
            k, v, tokens = self.stored
            self.stored = k[texts], v[texts], tokens.select(texts)
        for state in self.states.values():
            state.update({name: tensor[texts] for name, tensor in state.items()})


class DecoderCache:
    """What every block's self-attention and cross-attention keep.

    length: the number of tokens of each text in it, padding included.
    """

    def __init__(self, blocks: int) -> None:
        self.self_attention = [KeyValues() for _ in range(blocks)]
        self.cross_attention = [KeyValues() for _ in range(blocks)]
        self.length = 0

    def select(self, texts: Tensor) -> None:
        """Continue with these texts of the batch (int (B'))."""
        for store in (*self.self_attention, *self.cross_attention):
            store.select(texts)


def _joined(old: Tokens, new: Tokens, old_length: int, length: int, batch: int) -> Tokens:
    """The tokens of both; where one has no attention_mask, all of its tokens are real."""
    attention_mask, positions = None, [old.positions, new.positions]
    masks = [old.attention_mask, new.attention_mask]
    if any(mask is not None for mask in masks):
        real = torch.ones(batch, old_length + length, dtype=torch.bool, device=positions[0].device)
        whole = real[:, :old_length], real[:, old_length:]
        parts = [a if mask is None else mask for mask, a in zip(masks, whole, strict=True)]
        attention_mask = torch.cat(parts, dim=1)
    if max(p.dim() for p in positions) == 2:
        positions = [p.expand(batch, -1) for p in positions]
    return Tokens(attention_mask, torch.cat(positions, dim=-1))
