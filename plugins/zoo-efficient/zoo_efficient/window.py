"""Sliding-window attention to both sides."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo import part
from zoo.components.attention.base import ProjectedAttention, softmax_weights
from zoo.components.attention.projections import PackedProjection
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens, may_attend
from zoo_efficient.blocks import Blocks
from zoo_efficient.padding import hide
from zoo_efficient.whole_numbers import at_least


@part(
    "attention",
    "window",
    source="Beltagy et al. 2020, Longformer, section 3.1, https://arxiv.org/abs/2004.05150",
    adds=("bias", "padding", "causal", "map", "order"),
    lacks=("cross", "cache"),
)
class Window(ProjectedAttention):
    """Exact attention to the keys at most size tokens away, on both sides.

    softmax(Q Kᵀ / √Dh + bias) V over the keys with |i - j| <= size.

    Beltagy et al. 2020, Longformer, section 3.1, where w = 2 · size. Exact within the window,
    and equal to full attention for texts of at most size + 1 tokens.
    Cost: L · size · Dh per head in time, L · size in memory.
    Choices: i and j are positions, so padding between the tokens of a text is no distance; no
    global tokens and no dilation.
    """

    projection = PackedProjection

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, size: int = 64) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.size = at_least("size", 0, size)

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        """The output of each head (B, H, L, Dh)."""
        tokens = layer.tokens
        if tokens.attention_mask is None or tokens.positions.dim() == 1:
            return self._in_blocks(q, k, v, layer)
        # Each text has positions of its own, which padding may interrupt: its tokens come first.
        order = (~tokens.attention_mask).to(torch.uint8).argsort(dim=1, stable=True)
        mask = tokens.attention_mask.take_along_dim(order, dim=1)
        tokens = Tokens(mask, tokens.positions.take_along_dim(order, dim=1))
        q, k, v = (x.take_along_dim(order[:, None, :, None], dim=2) for x in (q, k, v))
        out = self._in_blocks(q, k, v, replace(layer, tokens=tokens))
        return out.take_along_dim(order.argsort(dim=1)[:, None, :, None], dim=2)

    def _in_blocks(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        """The output of each head, computed as B N texts of C queries and W keys."""
        batch, length = q.shape[0], q.shape[2]
        blocks = Blocks(length, self.size)
        out = F.scaled_dot_product_attention(
            blocks.queries(q, 2).transpose(1, 2).flatten(0, 1),  # (B N, H, C, Dh)
            blocks.keys(hide(k, layer.keys), 2).transpose(1, 2).flatten(0, 1),  # (B N, H, W, Dh)
            blocks.keys(hide(v, layer.keys), 2).transpose(1, 2).flatten(0, 1),
            attn_mask=self._added(blocks, batch, layer, q.dtype),
            dropout_p=self.dropout if self.training else 0.0,
        )
        return blocks.join(out.unflatten(0, (batch, -1)).transpose(1, 2), 2)

    def weights(self, x: Tensor, layer: LayerContext) -> Tensor:
        """The attention map (B, H, L, L), which forward never computes; rows sum to one."""
        q, k, _, _ = self.queries_keys_values(x, layer)
        places = layer.tokens.positions
        mask = (places[..., :, None] - places[..., None, :]).abs() <= self.size
        mask = mask[:, None] if mask.dim() == 3 else mask
        allowed = may_attend(layer.tokens, layer.tokens, layer.causal)
        if allowed is not None:
            near = mask & allowed
            # A padded query far from every token would have no key: it gets the whole text.
            mask = torch.where(near.any(dim=-1, keepdim=True), near, allowed)
        return softmax_weights(q, k, mask, layer.position.bias(places, places))

    def _added(self, blocks: Blocks, batch: int, layer: LayerContext, dtype: torch.dtype) -> Tensor:
        """Mask and bias of each block, (B N, 1 or H, C, W): bool, or added to the scores."""
        tokens = layer.tokens
        mask = blocks.near(tokens.positions.device)  # (N, C, W), and (B, N, C, W) from here on
        if tokens.attention_mask is not None:
            mask = mask & blocks.keys(tokens.attention_mask, 1)[..., None, :]
        last = tokens.positions.dim() - 1
        q_positions = blocks.queries(tokens.positions, last)  # (N, C) or (B, N, C)
        k_positions = blocks.keys(tokens.positions, last)
        if layer.causal:
            mask = mask & (k_positions[..., None, :] <= q_positions[..., None])
        # A padded query without keys gets all of them: a softmax over nothing is NaN.
        mask = mask | ~mask.any(dim=-1, keepdim=True)
        mask = mask.expand(batch, *mask.shape[-3:]).flatten(0, 1).unsqueeze(1)
        # For the encoding every block is a text.
        bias = layer.position.bias(q_positions.flatten(0, -2), k_positions.flatten(0, -2))
        if bias is None:
            return mask
        if bias.dim() == 4 and 1 < len(bias) < len(mask):  # one per block, for every text
            bias = bias.expand(batch, *bias.shape).flatten(0, 1)
        return bias.to(dtype).masked_fill(~mask, -torch.inf)
