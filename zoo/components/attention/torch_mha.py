"""``torch.nn.MultiheadAttention``, unchanged."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention, Cache
from zoo.components.attention.projections import CanonicalWeights
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens, may_attend, only_causal


class TorchMultiHead(Attention):
    """softmax(Q Kᵀ / √Dh) V by ``torch.nn.MultiheadAttention``.

    It gives encodings no access to q and k.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if heads < 1 or dim % heads:
            raise ValueError(f"width {dim} does not divide into {heads} heads")
        self.heads, self.head_dim = heads, dim // heads
        weights = CanonicalWeights.draw(dim)
        self.attention = nn.MultiheadAttention(dim, heads, dropout=dropout, batch_first=True)
        self.load_canonical(weights)

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
        as_map: bool = False,
    ) -> Tensor:
        """As the contract says; ValueError for a cache. as_map: return the attention map."""
        if cache is not None:
            raise ValueError("attention 'torch' keeps no cache")
        # It projects inside, so that queries and keys can be neither rotated nor read.
        self.refuse_undeclared(
            x,
            context,
            tokens=tokens,
            context_tokens=context_tokens,
            position=position,
            causal=causal,
        )
        context = x if context is None else context
        keys = tokens if context_tokens is None else context_tokens
        mask = may_attend(tokens, keys, causal)
        bias = position.bias(tokens.positions, keys.positions)
        # torch's True means "may not attend", the opposite of ours.
        added = None if mask is None else ~mask
        if bias is not None:
            added = bias.to(x.dtype)
            added = added if mask is None else added.masked_fill(~mask, -torch.inf)
        if added is not None and added.dim() > 2:
            shape = (x.shape[0], self.heads, x.shape[1], context.shape[1])
            added = added.expand(shape).flatten(0, 1)  # (B * H, Lq, Lk), as torch wants it
        out, weights = self.attention(
            x,
            context,
            context,
            attn_mask=added,
            need_weights=as_map,
            average_attn_weights=False,
            # With this hint torch's kernel uses its causal mode; the mask is required all the same.
            is_causal=causal and bias is None and only_causal(tokens, keys),
        )
        found: Tensor = weights if as_map else out
        return found

    def weights(self, *args: Any, **options: Any) -> Tensor:
        """The attention map (B, H, Lq, Lk), of forward's arguments; each row sums to one."""
        return self.forward(*args, **options, as_map=True)

    @torch.no_grad()
    def load_canonical(self, weights: CanonicalWeights) -> None:
        """Copy the canonical weights into torch's layout."""
        mha = self.attention
        mha.in_proj_weight.copy_(weights.qkv)
        mha.in_proj_bias.copy_(weights.qkv_bias)
        mha.out_proj.weight.copy_(weights.wo)
        mha.out_proj.bias.copy_(weights.bo)
