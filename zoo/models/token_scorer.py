"""A decoder and its scores of tokens."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.decoder import Decoder


class TokenScorer(nn.Module):
    """A decoder and its projection to the vocabulary.

    head: (…, D) to (…, vocabulary); None for the token embeddings themselves, so that input and
    output share their weights (Press and Wolf 2017; Vaswani et al. 2017, section 3.4).
    """

    def __init__(self, decoder: Decoder, head: nn.Module | None = None) -> None:
        super().__init__()
        self.decoder, self.head = decoder, head

    def logits(self, x: Tensor) -> Tensor:
        """The decoder's vectors (…, D) to a score per token (…, vocabulary)."""
        if self.head is None:
            return F.linear(x, self.decoder.embedding.weight)
        scores: Tensor = self.head(x)
        return scores
