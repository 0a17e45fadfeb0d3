"""Reference for exact attention and rotation: loops over single vectors, in float64.

Written to be compared with the paper; it shares no code with the components that it checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from zoo.components.attention.projections import CanonicalWeights

Rotation = Callable[[Tensor, int], Tensor]  # a head's vector (Dh) and its position
Bias = Callable[[int, int, int], float]  # head, query position, key position


def attention(
    weights: CanonicalWeights,
    heads: int,
    x: Tensor,
    context: Tensor,
    *,
    visible: Callable[[int, int, int], bool],
    q_positions: list[int],
    k_positions: list[int],
    rotate: Rotation | None = None,
    bias: Bias | None = None,
) -> tuple[Tensor, Tensor]:
    """Concat(head_1 .. head_H) W_o, head = softmax(Q Kᵀ / √Dh + bias) V.

    Vaswani et al. 2017, section 3.2.2. x: (B, Lq, D); context: (B, Lk, D); visible(text, query,
    key): whether a query may attend to a key; one that may attend to none attends to all.
    Returns (B, Lq, D) and the attention map (B, H, Lq, Lk).
    """
    texts, head_dim = [], x.shape[-1] // heads
    maps = []
    for text in range(x.shape[0]):
        head_outputs, head_maps = [], []
        for head in range(heads):
            rows = slice(head * head_dim, (head + 1) * head_dim)
            q = [weights.wq[rows] @ vector + weights.bq[rows] for vector in x[text]]
            k = [weights.wk[rows] @ vector + weights.bk[rows] for vector in context[text]]
            v = [weights.wv[rows] @ vector + weights.bv[rows] for vector in context[text]]
            if rotate is not None:
                q = [rotate(vector, at) for vector, at in zip(q, q_positions, strict=True)]
                k = [rotate(vector, at) for vector, at in zip(k, k_positions, strict=True)]
            out, row_maps = [], []
            for i in range(len(q)):
                seen = [j for j in range(len(k)) if visible(text, i, j)] or list(range(len(k)))
                scores = torch.stack([q[i].dot(k[j]) / math.sqrt(head_dim) for j in seen])
                if bias is not None:
                    added = [bias(head, q_positions[i], k_positions[j]) for j in seen]
                    scores = scores + torch.tensor(added, dtype=scores.dtype)
                share = (scores - scores.max().detach()).exp()
                share = share / share.sum()
                out.append(torch.stack([p * v[j] for p, j in zip(share, seen, strict=True)]).sum(0))
                row = torch.zeros(len(k), dtype=x.dtype)
                row_maps.append(row.index_put((torch.tensor(seen),), share))
            head_outputs.append(torch.stack(out))  # (Lq, Dh)
            head_maps.append(torch.stack(row_maps))  # (Lq, Lk)
        concat = torch.cat(head_outputs, dim=-1)  # (Lq, D)
        texts.append(concat @ weights.wo.T + weights.bo)
        maps.append(torch.stack(head_maps))
    return torch.stack(texts), torch.stack(maps)


def rotation(vector: Tensor, position: int, base: float = 100.0) -> Tensor:
    """Each pair (x₂ᵢ, x₂ᵢ₊₁) of a vector (Dh) rotated by position · base^(-2i/Dh).

    Su et al. 2021, equation 34; the small base makes the angles large even for short texts.
    """
    rotated = []
    for pair in range(len(vector) // 2):
        angle = position * base ** (-2 * pair / len(vector))
        x, y = vector[2 * pair], vector[2 * pair + 1]
        rotated.append(x * math.cos(angle) - y * math.sin(angle))
        rotated.append(x * math.sin(angle) + y * math.cos(angle))
    return torch.stack(rotated)


def score_bias(head: int, q_position: int, k_position: int) -> float:
    """A bias that depends on the head, the offset and its direction."""
    offset = k_position - q_position
    return math.sin(0.9 * offset + head) - 0.3 * (head + 1) * max(offset, 0)
