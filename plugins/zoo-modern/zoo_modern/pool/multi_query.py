"""Several learned means over real tokens, side by side."""

from __future__ import annotations

from torch import nn

from zoo import part
from zoo.components.pool.base import Pool
from zoo_modern.pool.attention import AttentionPool


@part(
    "pool",
    "multi-query",
    source="Lin et al. 2017, equations 6 and 7, https://arxiv.org/abs/1703.03130",
)
class MultiQuery(AttentionPool):
    """Several means with learned weights, side by side.

    The rows of A X side by side (B, queries · D), A = softmax(W₂ tanh(W₁ Xᵀ)).

    Lin et al. 2017, A Structured Self-Attentive Sentence Embedding, equations 6 and 7. The softmax
    is over real tokens, row by row. Choices: 4 queries, where the paper has 30; W₁ (hidden, D) has
    D rows unless ``hidden`` says otherwise, where the paper has 350. The paper's penalty on rows
    that are alike is left out, because a pool cannot add to the loss.
    """

    def __init__(self, dim: int, *, queries: int = 4, hidden: int | None = None) -> None:
        Pool.__init__(self, dim)
        hidden = dim if hidden is None else hidden
        if queries < 1 or hidden < 1:
            raise ValueError(f"queries and hidden are at least 1, not {queries} and {hidden}")
        self.width = queries * dim
        self.inner = nn.Linear(dim, hidden, bias=False)
        self.score = nn.Linear(hidden, queries, bias=False)
