"""What is known of a batch's tokens, in one small object."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tokens:
    """Which tokens are real, and where each stands in its text.

    padding: bool (B, L), True where a token is real; None where every token is.
    positions: int (L) or (B, L), counted from 0.
    """

    attention_mask: Tensor | None
    positions: Tensor

    @classmethod
    def whole(cls, length: int, device: torch.device | str | None = None) -> Tokens:
        """Texts of one length without padding, at positions 0 .. length - 1."""
        return cls(None, torch.arange(length, device=device))

    def __getitem__(self, rows: slice) -> Tokens:
        """The tokens of some rows of L."""
        attention_mask = None if self.attention_mask is None else self.attention_mask[:, rows]
        return Tokens(attention_mask, self.positions[..., rows])


def may_attend(queries: Tokens, keys: Tokens, causal: bool) -> Tensor | None:
    """Which key each query may see: bool, broadcastable to (B, H, Lq, Lk); None where all may.

    A query that may see nothing (an empty document) may see everything instead: its output is
    read by nobody, and a softmax over nothing would be NaN.
    """
    mask = (
        None if keys.attention_mask is None else keys.attention_mask[:, None, None, :]
    )  # (B, 1, 1, Lk)
    if causal:
        past = keys.positions[..., None, :] <= queries.positions[..., :, None]  # (..., Lq, Lk)
        past = past[:, None] if past.dim() == 3 else past
        mask = past if mask is None else mask & past
    if mask is None:
        return None
    return mask | ~mask.any(dim=-1, keepdim=True)
