"""Dropout that needs few random numbers on a CPU."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 2**16  # a draw has 16 bits: one 64-bit random number gives four


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """0 with probability p, else x / (1 - p) (Srivastava et al. 2014, section 4, inverted).

    x: any shape. On a CPU F.dropout draws one random number per element, one after another: at
    p = 0.1 a quarter of a training step. Here four elements share one, and p is rounded to
    1/65536. On a GPU and under torch.compile drawing is cheap: there it is torch's own dropout.
    """
    if not training or p == 0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, p)
    dropped = min(round(p * LEVELS), LEVELS - 1)
    numbers = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    draws = numbers.view(torch.int16)[: x.numel()].view(x.shape)  # from -LEVELS / 2 on
    keep = torch.empty(x.shape, dtype=torch.uint8)
    torch.ge(draws, dropped - LEVELS // 2, out=keep)
    # In the precision of x, as torch's factor is.
    scale = torch.tensor(LEVELS / (LEVELS - dropped), dtype=x.dtype)
    kept: Tensor = _Kept.apply(x, keep, scale)  # type: ignore[no-untyped-call]
    return kept


class _Kept(torch.autograd.Function):
    """x * keep * scale; keep: uint8 of x's shape, 0 or 1, and scale: a scalar of x's type.

    A byte is saved for each element, as with a bool mask. Multiplying by bools takes three times as
    long: torch converts them one by one, and bytes several at once.
    """

    @staticmethod
    def forward(x: Tensor, keep: Tensor, scale: Tensor) -> Tensor:
        return keep.to(x.dtype).mul_(x).mul_(scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        _, keep, scale = inputs
        ctx.save_for_backward(keep, scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        keep, scale = ctx.saved_tensors
        return _Kept.forward(grad, keep, scale), None, None
