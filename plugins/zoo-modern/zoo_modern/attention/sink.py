"""Attention with a learned sink: heads may attend to nothing."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.split import Split
from zoo.components.dropout import dropout
from zoo_modern.attention.masked_scores import masked_scores


@part(
    "attention",
    "sink",
    source="OpenAI 2025, gpt-oss model card, section 2.2, https://arxiv.org/abs/2508.10925",
    lacks=("exact", "map"),
)
class Sink(Split):
    """A learned sink logit per head, so that a head may attend to nothing.

    w_ij = exp(s_ij) / (exp(b_h) + Σ_k exp(s_ik)), with a learned sink logit b_h for each head.

    OpenAI 2025, gpt-oss model card, section 2.2: a learned bias in the denominator of the softmax;
    b = 0 is Miller's softmax "off by one". b is 0 at first, and a row's weights sum to less than 1.
    """

    no_weight_decay = ("sinks",)

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.sinks = nn.Parameter(torch.zeros(heads))

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        scores = masked_scores(q, k, mask, bias)
        sinks = self.sinks[:, None, None].to(scores.dtype).expand(*scores.shape[:-1], 1)
        weights = torch.cat([scores, sinks], dim=-1).softmax(dim=-1)[..., :-1]
        return dropout(weights, self.dropout, self.training) @ v
