"""Dropout whose draws cost a CPU little."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 2**16  # a draw has 16 bits: four of them come of one number of the generator


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """0 with probability p, else x / (1 - p) (Srivastava et al. 2014, section 4, inverted).

    x: any shape. torch's generator gives a CPU one number after another, and F.dropout takes one
    for every element: at p = 0.1 that was a quarter of a training step. Here p is rounded to
    1/65536. A GPU draws as it multiplies, and so does what torch.compile makes: they have torch's.
    """
    if not training or p == 0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, p)
    dropped = min(round(p * LEVELS), LEVELS - 1)
    numbers = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    draws = numbers.view(torch.int16)[: x.numel()].view(x.shape)  # from -LEVELS / 2 on
    # In x's own precision, as torch's factor is.
    grown = torch.tensor(LEVELS / (LEVELS - dropped), dtype=x.dtype)
    return x * (draws >= dropped - LEVELS // 2) * grown
