"""Sigmoid attention: every weight by itself, without a softmax."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.attention.split import Split
from zoo.components.dropout import dropout
from zoo_modern.attention.masked_scores import masked_scores


@part(
    "attention",
    "sigmoid",
    source="Ramapuram et al. 2024, Sigmoid Self-Attention, https://arxiv.org/abs/2409.04431",
    lacks=("exact", "map"),
)
class Sigmoid(Split):
    """A sigmoid of every score in place of the softmax.

    σ(Q Kᵀ / √Dh + bias - log n) V, for n keys.

    Ramapuram et al. 2024, section 2, with b = -log n. Choice: n is the number of
    keys that a query may attend to, so that padding and the future have no influence.
    """

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        scores = masked_scores(q, k, mask, bias)
        count = torch.full((), k.shape[-2], dtype=scores.dtype, device=scores.device)
        if mask is not None:
            seen = mask.expand(*mask.shape[:-1], k.shape[-2])
            count = seen.sum(dim=-1, keepdim=True).to(scores.dtype)
        weights = (scores - count.log()).sigmoid()
        return dropout(weights, self.dropout, self.training) @ v
