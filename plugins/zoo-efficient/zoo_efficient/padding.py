"""Hiding padding, and counting real tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens


def hide(x: Tensor, tokens: Tokens) -> Tensor:
    """x (B, H, L, Dh) with zeros at the positions of padding.

    Masked and not multiplied: NaN times zero is NaN, and padding must not change the result.
    """
    if tokens.attention_mask is None:
        return x
    return x.masked_fill(~tokens.attention_mask[:, None, :, None], 0)


def ranks(tokens: Tokens, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The number of real tokens before each, (B or 1, L), and in each text, (B or 1, 1).

    Padding before or between them does not change the ranks of real tokens; ranks of padding are
    undefined.
    """
    if tokens.attention_mask is None:
        whole = torch.arange(length, device=device)[None]
        return whole, torch.full_like(whole[:, :1], length)
    count = tokens.attention_mask.cumsum(dim=-1)
    return (count - 1).clamp_min(0), count[:, -1:]
