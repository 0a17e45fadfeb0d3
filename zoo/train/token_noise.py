"""What training does to the tokens of a text: some deleted, some hidden. [CLS] in front stays."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T", int, Tensor)

UNKNOWN = 1  # the tokenizer's [UNK]
PAD = 0


def delete_tokens(
    ids: Tensor, attention_mask: Tensor | None, share: float
) -> tuple[Tensor, Tensor | None]:
    """Texts without a random share of their tokens, the rest moved together in its order.

    ids: int (B, L); padding: bool (B, L), True where a token is real, None where all are. Returns
    both at the length that is left, (B, L'). Every text loses the same share, to the token: so L'
    is known without asking the device, and texts of like length stay so.
    Random deletion (Wei and Zou 2019, section 2), there for a few words; at shares of 0.3 and more
    it is the word dropout of Iyyer et al. 2015, section 3.2.
    """
    if not share:
        return ids, attention_mask
    texts, length = ids.shape
    place = torch.arange(length, device=ids.device)
    draws = torch.rand((texts, length), device=ids.device)
    draws[:, 0] = -1.0
    if attention_mask is None:
        left = torch.full((texts,), _left(length, share), device=ids.device)
    else:
        draws = draws.masked_fill(~attention_mask, 2.0)
        left = _left(attention_mask.sum(dim=1), share)
    # The places of the smallest draws; what a shorter text has too many of goes to its end.
    chosen = draws.argsort(dim=1)[:, : _left(length, share)]
    real = place[: chosen.shape[1]] < left[:, None]
    chosen, _ = chosen.masked_fill(~real, length).sort(dim=1)
    kept = ids.gather(1, chosen.clamp_max(length - 1)).masked_fill(~real, PAD)
    return kept, None if attention_mask is None else real


def _left(length: T, share: float) -> T:
    """How many of ``length`` tokens stay: in integers, which every device rounds alike."""
    millionths = round((1 - share) * 1_000_000)
    return ((length - 1) * millionths + 500_000) // 1_000_000 + 1


def hide_tokens(ids: Tensor, share: float) -> Tensor:
    """Ids (B, L) with a random share of them unknown; padding stays padding."""
    if not share:
        return ids
    hidden = torch.rand(ids.shape, device=ids.device) < share
    hidden[:, 0] = False
    return ids.masked_fill(hidden & (ids != PAD), UNKNOWN)
