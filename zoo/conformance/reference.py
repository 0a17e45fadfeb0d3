"""Parts of known behaviour: attention and rotation as in the paper, encodings, a cache.

The functions loop over single vectors, in float64. They are written to be compared with the paper
and share no code with the components that they check.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from zoo.components.attention.projections import CanonicalWeights
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens

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


class ReferenceEncoding(PositionalEncoding):
    """An encoding with the reference's rotation, its bias, both, or neither."""

    def __init__(self, rotates: bool = False, biases: bool = False, *, heads: int = 1) -> None:
        super().__init__(dim=0, heads=0, head_dim=0, max_length=0)
        self.rotates, self.biases, self.heads = rotates, biases, heads

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """``reference.rotation`` of all positions at once."""
        if not self.rotates:
            return x
        width = x.shape[-1]
        pairs = torch.arange(width // 2, dtype=torch.float64, device=x.device)
        angles = positions[..., None].double() * 100.0 ** (-2 * pairs / width)
        angles = angles[:, None] if angles.dim() == 3 else angles
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x[..., 0::2], x[..., 1::2]
        rotated = [first * cos - second * sin, first * sin + second * cos]
        return torch.stack(rotated, dim=-1).flatten(-2)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """``reference.score_bias`` of all positions at once."""
        if not self.biases:
            return None
        offset = (k_positions[..., None, :] - q_positions[..., :, None]).double()
        head = torch.arange(self.heads, dtype=torch.float64, device=offset.device)[:, None, None]
        offset = offset[..., None, :, :]
        return torch.sin(0.9 * offset + head) - 0.3 * (head + 1) * offset.clamp_min(0)


class CausalBias(PositionalEncoding):
    """A bias so low that no query attends to a later key: a causal mask made of a bias."""

    def __init__(self, heads: int) -> None:
        super().__init__(dim=0, heads=0, head_dim=0, max_length=0)
        self.heads = heads

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(…, H, Lq, Lk): -10⁴ where the key is later than the query, else 0."""
        later = (k_positions[..., None, :] > q_positions[..., :, None])[..., None, :, :]
        return -1e4 * later.double().expand(*later.shape[:-3], self.heads, *later.shape[-2:])


class GrowingCache:
    """Stores every key and value that it is given: the contract of a cache and nothing else."""

    def __init__(self) -> None:
        self.content: tuple[Tensor, Tensor, Tokens] | None = None

    def extend(self, k: Tensor, v: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor, Tokens]:
        """Append keys and values; returns all of them, with their tokens."""
        if self.content is not None:
            k_before, v_before, before = self.content
            k, v = torch.cat([k_before, k], dim=-2), torch.cat([v_before, v], dim=-2)
            attention_mask = None
            if before.attention_mask is not None and tokens.attention_mask is not None:
                attention_mask = torch.cat([before.attention_mask, tokens.attention_mask], dim=-1)
            tokens = Tokens(attention_mask, torch.cat([before.positions, tokens.positions], dim=-1))
        self.content = (k, v, tokens)
        return self.content
