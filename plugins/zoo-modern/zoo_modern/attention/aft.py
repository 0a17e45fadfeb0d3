"""Attention-free transformer: weights that are products of a place's and a key's."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import PackedProjection
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import may_attend
from zoo_modern.attention.causal_mixer import hide
from zoo_modern.attention.chunks import wide, without_autocast
from zoo_modern.attention.whole_numbers import at_least


@part(
    "attention",
    "aft",
    source="Zhai et al. 2021, An Attention Free Transformer, https://arxiv.org/abs/2105.14103",
    adds=("padding", "causal", "order", "fixed-length"),
    lacks=("rotate",),
)
class AttentionFree(ProjectedAttention):
    """Attention-free: means of values weighted by key and pair of positions, channel by channel.

    y_t = σ(q_t) ⊙ Σ_s exp(k_s + w_ts) ⊙ v_s / Σ_s exp(k_s + w_ts), channel by channel.

    Zhai et al. 2021, An Attention Free Transformer, equation 2, with w_ts = a_t · b_s of learned
    vectors of width ``rank`` for each position (section 3, with its 128). Two matrix products, as
    in the paper, so a channel's keys far below its largest count as not so far: 43 below in
    float32, and 354 in causal calls, which sum in float64. Both also in half
    precision, and so without tensor cores: exponentials lose too much in bfloat16.
    Choices: dropout acts on v; a and b are drawn with variance 0.01. An encoding can only add to
    the embeddings.
    """

    projection = PackedProjection

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, max_length: int, rank: int = 128
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        at_least("rank", 1, rank)
        self.max_length = max_length
        self.q_places, self.k_places = (nn.Embedding(max_length, rank) for _ in range(2))
        for table in (self.q_places, self.k_places):
            nn.init.normal_(table.weight, std=0.1)

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        if max(q.shape[2], k.shape[2]) > self.max_length:
            raise ValueError(f"attention 'aft' is built for {self.max_length} tokens at most")
        tokens, keys = layer.tokens, layer.keys
        mask = may_attend(tokens, keys, layer.causal)
        v = dropout(hide(v, keys), self.dropout, self.training)
        # In a causal call a row may see only keys far below the largest, which is a later one's.
        precision = torch.float64 if layer.causal else wide(v).dtype
        with without_autocast(q.device):
            a, b, k, v = (
                x.to(precision)
                for x in (self.q_places(tokens.positions), self.k_places(keys.positions), k, v)
            )
            places = (a @ b.mT)[..., None, :, :]  # (1 or B, 1, Lq, Lk)
            if mask is not None:
                places = places.masked_fill(~mask, -torch.inf)
            # The largest of each sum is taken out of it, of both factors by itself.
            weights = (places - places.detach().amax(dim=-1, keepdim=True)).exp()
            if keys.attention_mask is not None:
                hidden = ~keys.attention_mask[:, None, :, None]
                k = k.masked_fill(hidden, torch.finfo(precision).min)
            k = k - k.detach().amax(dim=-2, keepdim=True)
            # Half the range of numbers, so that no sum is 0.
            k = k.clamp_min(math.log(torch.finfo(precision).tiny) / 2).exp()  # (B, H, Lk, Dh)
            means = weights @ (k * v) / (weights @ k)
        return q.sigmoid() * means.to(q.dtype)
