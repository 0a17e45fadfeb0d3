"""A decoder without cross-attention, which continues a text."""

from __future__ import annotations

from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import DecoderCache
from zoo.models.token_scorer import TokenScorer


class LanguageModel(TokenScorer):
    """Token ids to scores of the next token (Radford et al. 2019)."""

    def forward(self, ids: Tensor, tokens: Tokens, *, cache: DecoderCache | None = None) -> Tensor:
        """Ids (B, L) to logits (B, L, vocabulary); position i scores token i + 1."""
        return self.logits(self.decoder(ids, tokens, cache=cache))
