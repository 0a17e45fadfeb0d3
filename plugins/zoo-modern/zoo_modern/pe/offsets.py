"""What encodings by relative position share."""

from __future__ import annotations

import torch
from torch import Tensor


def offsets(q_positions: Tensor, k_positions: Tensor) -> Tensor:
    """Position of each key minus that of each query: int (Lq, Lk), or (B, Lq, Lk)."""
    return k_positions[..., None, :] - q_positions[..., :, None]


def wide(x: Tensor) -> Tensor:
    """x in float32, or wider where it is.

    Bfloat16 has no number between 256 and 258, so that distances of that size would coincide.
    """
    return x.to(torch.promote_types(x.dtype, torch.float32))
