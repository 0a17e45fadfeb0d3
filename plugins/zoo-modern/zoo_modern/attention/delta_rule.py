"""The delta rule, with and without decay: the recurrence of the DeltaNets, by chunks."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo_modern.attention.chunks import cut, decay_within, join, wide, without_autocast


def delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rate: Tensor,
    log_decay: Tensor,
    state: Tensor | None = None,
    size: int = 64,
) -> tuple[Tensor, Tensor]:
    """o_t = S_tᵀ q_t with S_t = e^{g_t} (I - β_t k_t k_tᵀ) S_{t-1} + β_t k_t v_tᵀ, and the last S.

    q, k: (B, H, L, K); v: (B, H, L, V); rate: β, and log_decay: g, both (B, H, L, 1).
    state: S (B, H, K, V) before the first token, None for zero. Returns (B, H, L, V) in v's dtype
    and (B, H, K, V).

    Chunks of ``size`` tokens (Yang et al. 2024, Parallelizing Linear Transformers with the Delta
    Rule, section 3; with decay Yang et al. 2025, Gated Delta Networks, section 3.3). With u_t what
    token t writes, S_t = e^{g_t} S_{t-1} + k_t u_tᵀ, all u of a chunk solve one triangular system:
    u_t = β_t (v_t - e^{g_t} S_{t-1}ᵀ k_t), where S_{t-1} is what the chunk began with and the
    earlier u.
    """
    dtype, length = v.dtype, v.shape[2]
    size = min(size, length)  # a decoding step has one token
    with without_autocast(v.device):
        q, k, v, rate, log_decay = (cut(wide(x), size) for x in (q, k, v, rate, log_decay))
        sums = log_decay.cumsum(dim=-2)  # (B, H, N, C, 1)
        between, decay = decay_within(sums).squeeze(-1), sums.exp()
        last = sums[..., -1:, :]
        system = (k * rate @ k.mT * between).tril(-1)
        # A chunk that begins with nothing erases nothing.
        erases = state is not None or v.shape[2] > 1
        right = (torch.cat([v, k * decay], dim=-1) if erases else v) * rate
        solved = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
        written, erased = solved.tensor_split([v.shape[-1]], dim=-1)
        scores, reads = q @ k.mT * between, q * decay
        keys, kept = (k * (last - sums).exp()).mT, last.exp()
        outs = []
        for n in range(v.shape[2]):
            new = written[:, :, n]  # u, (B, H, C, V)
            if state is None:
                outs.append(scores[:, :, n] @ new)
                state = keys[:, :, n] @ new
            else:
                new = new - erased[:, :, n] @ state
                outs.append(scores[:, :, n] @ new + reads[:, :, n] @ state)
                state = kept[:, :, n] * state + keys[:, :, n] @ new
    assert state is not None  # there is a chunk at least
    return join(torch.stack(outs, dim=2), length).to(dtype), state
