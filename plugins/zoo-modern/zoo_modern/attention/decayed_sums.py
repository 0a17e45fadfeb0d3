"""Linear attention with decay: the recurrence of retention, GLA and Mamba-2, by chunks."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo_modern.attention.chunks import cut, decay_within, join, wide, without_autocast


def decayed_sums(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, state: Tensor | None = None, size: int = 64
) -> tuple[Tensor, Tensor]:
    """o_t = S_tᵀ q_t with S_t = diag(exp g_t) S_{t-1} + k_t v_tᵀ, and the last S.

    q, k: (B, H or 1, L, K); v: (B, H, L, V); log_decay: g, (B, H, L, K), or (B, H, L, 1) where it
    is the same for all of K. state: S (B, H, K, V) before the first token, None for zero.
    Returns (B, H, L, V) in v's dtype and (B, H, K, V).

    Chunks of ``size`` tokens (Yang et al. 2024, Gated Linear Attention, section 4; Dao and Gu 2024,
    section 6): all pairs within a chunk, and S from one chunk to the next. Memory is L · size, and
    K times that where each of K has a decay of its own.
    """
    dtype, length = v.dtype, v.shape[2]
    size = min(size, length)  # a decoding step has one token
    with without_autocast(v.device):
        q, k, v, log_decay = (cut(wide(x), size) for x in (q, k, v, log_decay))
        sums = log_decay.cumsum(dim=-2)  # (B, H, N, C, K or 1)
        between = decay_within(sums)
        if sums.shape[-1] == 1:
            scores = q @ k.mT * between.squeeze(-1)
        else:
            scores = torch.einsum("...id,...ijd,...jd->...ij", q, between, k)
        last = sums[..., -1:, :]
        added = (k * (last - sums).exp()).mT @ v  # (B, H, N, K, V)
        kept, out, reads = last.exp().mT, scores @ v, q * sums.exp()  # kept: (B, H, N, K or 1, 1)
        outs = []
        for n in range(v.shape[2]):
            if state is None:  # which reads and keeps nothing
                outs.append(out[:, :, n])
                state = added[:, :, n]
            else:
                outs.append(out[:, :, n] + reads[:, :, n] @ state)
                state = kept[:, :, n] * state + added[:, :, n]
    assert state is not None  # there is a chunk at least
    return join(torch.stack(outs, dim=2), length).to(dtype), state
