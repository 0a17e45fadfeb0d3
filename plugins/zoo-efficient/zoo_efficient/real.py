"""Real tokens among padding, wherever the padding stands."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens


def hide(x: Tensor, tokens: Tokens) -> Tensor:
    """Rows of x (B, H, L, Dh) that are padding set to zero.

    Masked and not multiplied: whatever stands in padding, NaN too, must not leak.
    """
    if tokens.attention_mask is None:
        return x
    return x.masked_fill(~tokens.attention_mask[:, None, :, None], 0)


def ranks(tokens: Tokens, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """How many real tokens stand before each, (B or 1, L), and how many there are, (B or 1, 1).

    A text's ranks are the same wherever its padding stands; those of padding mean nothing.
    """
    if tokens.attention_mask is None:
        whole = torch.arange(length, device=device)[None]
        return whole, torch.full_like(whole[:, :1], length)
    count = tokens.attention_mask.cumsum(dim=-1)
    return (count - 1).clamp_min(0), count[:, -1:]
