"""Each token with the real tokens before it, for convolutions and shifts along a text."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens


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
