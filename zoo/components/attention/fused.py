"""One QKV linear layer and torch's fused kernel."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.components.attention.base import MultiHead
from zoo.components.attention.projections import PackedProjection
from zoo.components.layer_context import LayerContext
from zoo.components.one_pass import once
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
    # Texts of their own lengths in place of a mask, which keeps torch from its flash kernel. On a
    # CPU it is equal and slower; no GPU has shown yet that it is right and faster there.
    packs: ClassVar[bool] = False

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        mask, real = layer.tokens.attention_mask, layer.tokens.real_tokens
        plain = layer.keys is layer.tokens and not layer.causal and not layer.position.adds_bias
        if not self.packs or not plain or mask is None or real is None:
            return super().mix(q, k, v, layer)
        offsets, places = once(packing, mask, real)

        def packed(x: Tensor) -> Tensor:
            flat = x.transpose(1, 2).flatten(0, 1)[places]  # (real tokens, H, Dh)
            texts: Tensor = torch.nested.nested_tensor_from_jagged(
                flat, offsets, min_seqlen=1, max_seqlen=mask.shape[1]
            )
            return texts.transpose(1, 2)

        dropout = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(packed(q), packed(k), packed(v), None, dropout)
        texts, _, length, _ = q.shape
        flat: Tensor = out.transpose(1, 2).values()
        padded = flat.new_zeros(texts * length, *flat.shape[1:]).index_copy(0, places, flat)
        heads: Tensor = padded.unflatten(0, (texts, length)).transpose(1, 2)
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


def packing(mask: Tensor, real: int) -> tuple[Tensor, Tensor]:
    """Where texts of real tokens alone begin (B + 1), and the places of these in B · L (real).

    mask: bool (B, L), True where a token is real. real: how many are, known to the host, which so
    need not wait for the device.
    """
    offsets = F.pad(mask.sum(dim=1).cumsum(dim=0), (1, 0))
    places = mask.flatten().to(torch.uint8).argsort(descending=True, stable=True)[:real]
    return offsets, places
