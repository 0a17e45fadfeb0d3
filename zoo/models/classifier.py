"""An encoder, a pool and a head."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.pool.base import Pool
from zoo.components.tokens import Tokens
from zoo.models.encoder import Encoder


class Classifier(nn.Module):
    """Token ids to one score per class."""

    def __init__(self, encoder: Encoder, pool: Pool, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.pool, self.head = encoder, pool, head

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to logits (B, classes)."""
        reads = self.pool.reads
        x = self.encoder(ids, tokens, reads)
        attention_mask = tokens.attention_mask
        if reads is not None and attention_mask is not None:
            attention_mask = attention_mask[:, reads]
        logits: Tensor = self.head(self.pool(x, attention_mask))
        return logits


def classification_head(dim: int, hidden: int, classes: int, dropout: float) -> nn.Module:
    """Linear, ReLU, linear; a single linear layer where hidden is 0."""
    if hidden == 0:
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(dim, classes))
    return nn.Sequential(
        nn.Dropout(dropout), nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, classes)
    )
