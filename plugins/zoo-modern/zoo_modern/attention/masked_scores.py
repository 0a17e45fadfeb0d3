"""The scores that variants of the softmax begin with."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def masked_scores(q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """Q Kᵀ / √Dh + bias (B, H, Lq, Lk), and -inf where mask is False."""
    return add_bias(q / math.sqrt(q.shape[-1]) @ k.mT, mask, bias)


def add_bias(scores: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """The scores (B, H, Lq, Lk) plus bias, and -inf where mask is False."""
    if bias is not None:
        scores = scores + bias
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)
