"""Parts of known behaviour that a component is checked with: encodings and a cache."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens


class ReferenceEncoding(PositionalEncoding):
    """An encoding with the reference's rotation, its bias, both, or neither."""

    def __init__(self, *, rotates: bool = False, biases: bool = False, heads: int = 1) -> None:
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
