"""Talking heads: the heads' scores and weights are mixed with one another."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.split import Split
from zoo.components.dropout import dropout
from zoo_modern.attention.masked_scores import add_bias


@part(
    "attention",
    "talking-heads",
    source="Shazeer et al. 2020, Talking-Heads Attention, https://arxiv.org/abs/2003.02436",
    lacks=("exact", "map"),
)
class TalkingHeads(Split):
    """Scores and weights mixed over heads, before and after the softmax.

    W = softmax(P_l · S) over the keys, U = P_w · W, heads U V; S = Q Kᵀ / √Dh of all heads.

    Shazeer et al. 2020, section 4. P_l and P_w: (H, H), from head to head. Choices: both are the
    identity at first; the encoding's bias is added after P_l, so that it hides what it should.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.mix_scores, self.mix_weights = (nn.Parameter(torch.eye(heads)) for _ in range(2))

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        scores = q / math.sqrt(self.head_dim) @ k.mT
        scores = torch.einsum("gh,bhij->bgij", self.mix_scores, scores)
        weights = add_bias(scores, mask, bias).softmax(dim=-1)
        weights = torch.einsum("gh,bhij->bgij", self.mix_weights, weights)
        return dropout(weights, self.dropout, self.training) @ v
