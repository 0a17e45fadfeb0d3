"""Attention whose weights are products of features, so that sums can be reordered.

    Σ_j (φ(q_i)·φ(k_j)) v_j = φ(q_i)ᵀ (Σ_j φ(k_j) v_jᵀ), and so for Σ_j φ(q_i)·φ(k_j), the divisor

(Katharopoulos et al. 2020, section 3.2; causal: section 3.3). M features per head.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import may_attend

CHUNK = 64  # positions between two running sums; within a chunk all pairs are computed


def weighted_sums(q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
    """Σ_j (q_i·k_j) v_j over the keys that query i may attend to: (B, H, Lq, Dv).

    q: (B, H, Lq, M); k: (B, H, Lk, M), zero where a key is padding; v: (B, H, Lk, Dv).
    """
    if not layer.causal:
        return q @ (k.transpose(-2, -1) @ v)
    if layer.tokens is layer.keys:
        return _running_sums(q, k, v)
    # Queries from elsewhere (decoding, part of a text) are few: compute all pairs.
    mask = may_attend(layer.tokens, layer.keys, causal=True)
    assert mask is not None
    return (q @ k.transpose(-2, -1)).masked_fill(~mask, 0) @ v


def divide(top: Tensor, bottom: Tensor) -> Tensor:
    """The weighted sums by the sum of the weights; zero where there is no real key."""
    # The gradient has the divisor's square, which must not underflow to zero.
    return top / bottom.clamp_min(torch.finfo(bottom.dtype).tiny ** 0.5)


def _running_sums(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Σ_{j <= i} (q_i·k_j) v_j by chunks: all pairs within one, a running sum before it."""
    length = q.shape[-2]
    fill = -length % CHUNK
    q, k, v = (
        F.pad(x, (0, 0, 0, fill)).unflatten(-2, (-1, CHUNK)) for x in (q, k, v)
    )  # (B, H, L / C, C, ·)
    state = (k.transpose(-2, -1) @ v).cumsum(dim=-3)  # up to the end of each chunk
    before = F.pad(state[..., :-1, :, :], (0, 0, 0, 0, 1, 0))
    within = (q @ k.transpose(-2, -1)).tril() @ v
    return (within + q @ before).flatten(-3, -2)[..., :length, :]
