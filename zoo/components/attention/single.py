"""One head as wide as the model."""

from __future__ import annotations

from zoo.components.attention.split import Split


class Single(Split):
    """softmax(Q Kᵀ / √D) V with a single head (Vaswani et al. 2017, equation 1).

    heads is ignored: it is part of the contract. The capability ``one-head`` declares that.
    """

    def __init__(self, dim: int, heads: int = 1, *, dropout: float = 0.0) -> None:
        super().__init__(dim, 1, dropout=dropout)
