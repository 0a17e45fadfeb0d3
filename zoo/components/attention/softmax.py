"""Scaled dot-product attention with its softmax written out (Vaswani et al. 2017, equation 1)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo.components.dropout import dropout as drop


def softmax_weights(q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """softmax(Q Kᵀ / √Dh + bias) over the keys that mask allows: (B, H, Lq, Lk)."""
    # q is scaled and not the scores: (Lq, Dh) numbers instead of (Lq, Lk), in both passes.
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1)


def softmax_attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    dropout: float = 0.0,
) -> Tensor:
    """softmax(Q Kᵀ / √Dh + bias) V, with dropout on the weights: (B, H, Lq, Dh)."""
    return drop(softmax_weights(q, k, mask, bias), dropout) @ v
