"""Stand-ins that the checks put beside a component: encodings, a cache, a plain attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention, Cache
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens, may_attend


class Probe(PositionalEncoding):
    """An encoding with the reference's rotation, its bias, both, or neither."""

    def __init__(self, *, rotates: bool = False, biases: bool = False, heads: int = 1) -> None:
        super().__init__(dim=0, heads=0, head_dim=0, max_length=0)
        self.rotates, self.biases, self.heads = rotates, biases, heads

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """See PositionalEncoding.rotate; the reference's rotation for all positions at once."""
        if not self.rotates:
            return x
        width = x.shape[-1]
        pairs = torch.arange(width // 2, dtype=torch.float64, device=x.device)
        angles = positions[..., None].double() * 100.0 ** (-2 * pairs / width)
        angles = angles[:, None] if angles.dim() == 3 else angles
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x[..., 0::2], x[..., 1::2]
        turned = [first * cos - second * sin, first * sin + second * cos]
        return torch.stack(turned, dim=-1).flatten(-2)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """See PositionalEncoding.bias; the reference's bias for all positions at once."""
        if not self.biases:
            return None
        offset = (k_positions[..., None, :] - q_positions[..., :, None]).double()
        head = torch.arange(self.heads, dtype=torch.float64, device=offset.device)[:, None, None]
        offset = offset[..., None, :, :]
        return torch.sin(0.9 * offset + head) - 0.3 * (head + 1) * offset.clamp_min(0)


class Forbid(PositionalEncoding):
    """A bias so low that no query looks at a key behind it: a causal mask by bias alone."""

    def __init__(self, heads: int) -> None:
        super().__init__(dim=0, heads=0, head_dim=0, max_length=0)
        self.heads = heads

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """See PositionalEncoding.bias."""
        behind = k_positions[..., None, :] > q_positions[..., :, None]
        return (-1e4 * behind.double())[..., None, :, :].expand(
            *behind.shape[:-2], self.heads, *behind.shape[-2:]
        )


class GrowingCache:
    """Keeps every key and value it is given, as the contract of a cache says and no more."""

    def __init__(self) -> None:
        self.kept: tuple[Tensor, Tensor, Tokens] | None = None

    def extend(self, k: Tensor, v: Tensor, tokens: Tokens) -> tuple[Tensor, Tensor, Tokens]:
        """See Cache.extend."""
        if self.kept is not None:
            k_before, v_before, before = self.kept
            k, v = torch.cat([k_before, k], dim=-2), torch.cat([v_before, v], dim=-2)
            attention_mask = None
            if before.attention_mask is not None and tokens.attention_mask is not None:
                attention_mask = torch.cat([before.attention_mask, tokens.attention_mask], dim=-1)
            tokens = Tokens(attention_mask, torch.cat([before.positions, tokens.positions], dim=-1))
        self.kept = (k, v, tokens)
        return self.kept


class PlainAttention(Attention):
    """Softmax attention that honours everything, for blocks and encodings to be tried with."""

    def __init__(self, dim: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.head_dim, self.dropout = heads, dim // heads, dropout
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        tokens: Tokens,
        context_tokens: Tokens | None = None,
        position: PositionalEncoding,
        causal: bool = False,
        cache: Cache | None = None,
    ) -> Tensor:
        """See Attention.forward."""
        source = x if context is None else context
        keys = tokens if context_tokens is None else context_tokens
        q = position.rotate(self._heads(self.q(x)), tokens.positions)
        k = position.rotate(self._heads(self.k(source)), keys.positions)
        v = self._heads(self.v(source))
        if cache is not None:
            k, v, keys = cache.extend(k, v, keys)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        bias = position.bias(tokens.positions, keys.positions)
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        mask = may_attend(tokens, keys, causal)
        if mask is not None:
            scores = scores.where(mask, -torch.inf)
        taken = torch.einsum("bhqk,bhkd->bqhd", scores.softmax(-1), v).flatten(2)
        out: Tensor = self.out(nn.functional.dropout(taken, self.dropout, self.training))
        return out

    def _heads(self, x: Tensor) -> Tensor:
        heads: Tensor = x.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)
        return heads
