"""One QKV linear layer and torch's fused kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.components.attention.base import MultiHead
from zoo.components.attention.projections import PackedProjection
from zoo.components.layer_context import LayerContext
from zoo.registry.declarations import part


@part(
    "attention",
    "fused",
    source="Dao et al. 2022, FlashAttention, algorithm 1, https://arxiv.org/abs/2205.14135",
    adds=("exact", "map"),
)
class Fused(MultiHead):
    """As packed, with PyTorch's kernel scaled_dot_product_attention.

    softmax(Q Kᵀ / √Dh + bias) V; the (Lq, Lk) scores are never stored.

    A causal call without padding or bias builds no (Lq, Lk) mask either: the kernel has a causal
    mode. Its memory is linear in L, where torch has a fused kernel for device and precision.
    """

    projection = PackedProjection
    causal_kernel = True

    def takes_packed(self, layer: LayerContext) -> bool:
        inherited = type(self).mix is Fused.mix and type(self).attend is Fused.attend
        return inherited and not layer.position.adds_bias

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        packing = layer.tokens.packing
        if packing is None:
            return super().mix(q, k, v, layer)
        if layer.causal and q.device.type == "cpu":  # torch has no causal kernel for all of them
            lengths = packing.offsets.diff().tolist()
            alone = zip(*(x.split(lengths, dim=2) for x in (q, k, v)), strict=True)
            outs = [self.attend(q, k, v, None, None, causal=True) for q, k, v in alone]
            return torch.cat(outs, dim=2)
        longest = packing.padded.positions.shape[-1]

        def nested(x: Tensor) -> Tensor:
            """Each text of x (1, H, T, Dh) with a length of its own: (B, H, ·, Dh)."""
            texts: Tensor = torch.nested.nested_tensor_from_jagged(
                x[0].transpose(0, 1).contiguous(), packing.offsets, min_seqlen=1, max_seqlen=longest
            )
            return texts.transpose(1, 2)

        out = self.attend(nested(q), nested(k), nested(v), None, None, causal=layer.causal)
        heads: Tensor = out.transpose(1, 2).values().transpose(0, 1)[None]
        return heads

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        *,
        causal: bool = False,
    ) -> Tensor:
        if bias is not None and mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        added = mask if bias is None else bias
        dropout = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, added, dropout, is_causal=causal)
