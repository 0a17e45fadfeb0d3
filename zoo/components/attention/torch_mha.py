"""``torch.nn.MultiheadAttention``, unchanged."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.attention.projections import CanonicalWeights
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import may_attend, only_causal
from zoo.registry.declarations import part


@part(
    "attention",
    "torch",
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html",
    adds=("bias", "padding", "causal", "cross", "exact", "map"),
)
class TorchMultiHead(Attention):
    """Exact attention: torch.nn.MultiheadAttention, unchanged.

    It projects inside, so that an encoding can neither rotate nor read queries and keys.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if heads < 1 or dim % heads:
            raise ValueError(f"width {dim} does not divide into {heads} heads")
        self.heads, self.head_dim = heads, dim // heads
        weights = CanonicalWeights.draw(dim)
        self.attention = nn.MultiheadAttention(dim, heads, dropout=dropout, batch_first=True)
        self.load_canonical(weights)

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        """As the contract says; ValueError for a cache."""
        return self._run(x, layer, need_weights=False)[0]

    def weights(self, x: Tensor, layer: LayerContext) -> Tensor:
        """The attention map (B, H, Lq, Lk); each row sums to one."""
        return self._run(x, layer, need_weights=True)[1]

    def _run(self, x: Tensor, layer: LayerContext, *, need_weights: bool) -> tuple[Tensor, Tensor]:
        """The output, and the attention map where it is wanted."""
        if layer.cache is not None:
            raise ValueError("attention 'torch' keeps no cache")
        context = x if layer.context is None else layer.context
        tokens, keys = layer.tokens, layer.keys
        mask = may_attend(tokens, keys, layer.causal)
        bias = layer.position.bias(tokens.positions, keys.positions)
        # torch's True means "may not attend", the opposite of ours.
        added = None if mask is None else ~mask
        if bias is not None:
            added = bias.to(x.dtype)
            added = added if mask is None else added.masked_fill(~mask, -torch.inf)
        if added is not None and added.dim() > 2:
            shape = (x.shape[0], self.heads, x.shape[1], context.shape[1])
            added = added.expand(shape).flatten(0, 1)  # (B * H, Lq, Lk), as torch wants it
        outputs: tuple[Tensor, Tensor] = self.attention(
            x,
            context,
            context,
            attn_mask=added,
            need_weights=need_weights,
            average_attn_weights=False,
            # With this hint torch's kernel uses its causal mode; the mask is required all the same.
            is_causal=layer.causal and bias is None and only_causal(tokens, keys),
        )
        return outputs

    @torch.no_grad()
    def load_canonical(self, weights: CanonicalWeights) -> None:
        """Copy the canonical weights into torch's layout."""
        mha = self.attention
        mha.in_proj_weight.copy_(weights.qkv)
        mha.in_proj_bias.copy_(weights.qkv_bias)
        mha.out_proj.weight.copy_(weights.out)
        mha.out_proj.bias.copy_(weights.out_bias)
