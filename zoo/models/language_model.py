"""A decoder alone, which continues a text."""

from __future__ import annotations

from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.decoding.cache import DecoderCache
from zoo.models.token_scorer import TokenScorer


class LanguageModel(TokenScorer):
    """Ids to scores of the token that comes next (Radford et al. 2019)."""

    def forward(self, ids: Tensor, tokens: Tokens, *, cache: DecoderCache | None = None) -> Tensor:
        """Ids (B, L) to logits (B, L, vocabulary); row i scores the token after token i."""
        return self.logits(self.decoder(ids, tokens, cache=cache))
