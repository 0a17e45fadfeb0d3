"""Attention-free transformer: weights that are products of a place's and a key's."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import Packed
from zoo.components.dropout import dropout
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens, may_attend
from zoo_modern.attention.causal_mixer import hide
from zoo_modern.attention.chunks import wide, without_autocast
from zoo_modern.attention.refusals import at_least, refuse_slots


class AttentionFree(ProjectedAttention):
    """y_t = σ(q_t) ⊙ Σ_s exp(k_s + w_ts) ⊙ v_s / Σ_s exp(k_s + w_ts), channel by channel.

    Zhai et al. 2021, An Attention Free Transformer, equation 2, with w_ts = a_t · b_s of learned
    vectors of width ``rank`` for each position (section 3, with its 128). Two matrix products, as
    in the paper, so a channel's keys more than 43 below its largest (in float32) count as 43 below.
    Choices: dropout acts on v; a and b are drawn with variance 0.01. An encoding can only add to
    the embeddings.
    """

    projection = Packed

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, max_length: int, rank: int = 128
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        at_least("rank", 1, rank)
        self.max_length = max_length
        self.q_places, self.k_places = (nn.Embedding(max_length, rank) for _ in range(2))
        for table in (self.q_places, self.k_places):
            nn.init.normal_(table.weight, std=0.1)

    def mix(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        queries: Tokens,
        keys: Tokens,
        position: PositionalEncoding,
        causal: bool,
    ) -> Tensor:
        refuse_slots("aft", position, queries, self.head_dim)
        if max(q.shape[2], k.shape[2]) > self.max_length:
            raise ValueError(f"attention 'aft' is built for {self.max_length} tokens at most")
        mask = may_attend(queries, keys, causal)
        v = wide(dropout(hide(v, keys), self.dropout, self.training))
        with without_autocast(q.device):
            places = wide(self.q_places(queries.positions)) @ wide(self.k_places(keys.positions)).mT
            places = places[..., None, :, :]  # (1 or B, 1, Lq, Lk)
            if mask is not None:
                places = places.masked_fill(~mask, -torch.inf)
            # The largest of each sum is taken out of it, of both factors by itself.
            weights = (places - places.detach().amax(dim=-1, keepdim=True)).exp()
            k = wide(k)
            if keys.attention_mask is not None:
                hidden = ~keys.attention_mask[:, None, :, None]
                k = k.masked_fill(hidden, torch.finfo(k.dtype).min)
            k = k - k.detach().amax(dim=-2, keepdim=True)
            # Half the range, so that no sum is 0: a causal row may see small keys alone.
            k = k.clamp_min(math.log(torch.finfo(k.dtype).tiny) / 2).exp()  # (B, H, Lk, Dh)
            means = weights @ (k * v) / (weights @ k)
        return q.sigmoid() * means.to(q.dtype)
