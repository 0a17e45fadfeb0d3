"""Token deletion in training: random tokens of each text go; the first, [CLS], stays."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T", int, Tensor)

PAD = 0


def delete_tokens(
    ids: Tensor, attention_mask: Tensor | None, share: float
) -> tuple[Tensor, Tensor | None]:
    """Texts without a random share of their tokens, the others in their order.

    ids: int (B, L); attention_mask: bool (B, L), True where a token is real, None where all are.
    Returns both at the remaining length, (B, L'). Every text loses the same share, rounded to a
    token, so that L' is known without waiting for the device.
    Random deletion (Wei and Zou 2019, section 2), there of a few words; at shares of 0.3 and more
    it is the word dropout of Iyyer et al. 2015, section 3.2.
    """
    if not share:
        return ids, attention_mask
    texts, length = ids.shape
    index = torch.arange(length, device=ids.device)
    draws = torch.rand((texts, length), device=ids.device)
    draws[:, 0] = -1.0
    if attention_mask is None:
        count = torch.full((texts,), _remaining(length, share), device=ids.device)
    else:
        draws = draws.masked_fill(~attention_mask, 2.0)
        count = _remaining(attention_mask.sum(dim=1), share)
    # The positions of the smallest draws; a shorter text has too many, which become padding.
    chosen = draws.argsort(dim=1)[:, : _remaining(length, share)]
    real = index[: chosen.shape[1]] < count[:, None]
    chosen, _ = chosen.masked_fill(~real, length).sort(dim=1)
    remaining = ids.gather(1, chosen.clamp_max(length - 1)).masked_fill(~real, PAD)
    return remaining, None if attention_mask is None else real


def _remaining(length: T, share: float) -> T:
    """How many of ``length`` tokens stay; in integers, which every device rounds the same."""
    millionths = round((1 - share) * 1_000_000)
    return ((length - 1) * millionths + 500_000) // 1_000_000 + 1
