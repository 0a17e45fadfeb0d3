"""What the chunked forms of recurrences share: precision, and cutting L into chunks."""

from __future__ import annotations

import contextlib

import torch
import torch.nn.functional as F
from torch import Tensor


def wide(x: Tensor) -> Tensor:
    """x in float32 or wider: running sums over a text lose too much in bfloat16."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def without_autocast(device: torch.device) -> contextlib.AbstractContextManager[object]:
    """A context in which autocast leaves the precision of products as it is."""
    if not torch.amp.is_autocast_available(device.type):
        return contextlib.nullcontext()
    return torch.autocast(device.type, enabled=False)


def cut(x: Tensor, size: int) -> Tensor:
    """(B, H, L, ·) as chunks (B, H, N, C, ·), C = size, filled up with zeros."""
    chunks: Tensor = F.pad(x, (0, 0, 0, -x.shape[2] % size)).unflatten(2, (-1, size))
    return chunks


def join(x: Tensor, length: int) -> Tensor:
    """Chunks (B, H, N, C, ·) as (B, H, L, ·)."""
    return x.flatten(2, 3)[:, :, :length]


def decay_within(sums: Tensor) -> Tensor:
    """exp(sums_i - sums_j) for j <= i, else 0: (…, C, ·) to (…, C, C, ·).

    sums: of the logarithms of the decays, from the beginning of the chunk. Differences of them and
    not quotients of products, which underflow where decays are strong.
    """
    length = sums.shape[-2]
    # Added and not filled in, which has a cheaper gradient.
    future = sums.new_full((length, length), -torch.inf).triu(1)[..., None]
    return (sums[..., :, None, :] - sums[..., None, :, :] + future).exp()
