"""An encoder for a source text and a decoder for the target text."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.models.decoder import Decoder
from zoo.models.encoder import Encoder
from zoo.models.key_value_cache import DecoderCache
from zoo.models.token_scorer import TokenScorer


class EncoderDecoder(TokenScorer):
    """The whole transformer (Vaswani et al. 2017, figure 1).

    In cross-attention the queries are the decoder's, the keys and values the encoder's.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder, head: nn.Module | None = None) -> None:
        super().__init__(decoder, head)
        self.encoder = encoder

    def forward(
        self, source: Tensor, source_tokens: Tokens, target: Tensor, target_tokens: Tokens
    ) -> Tensor:
        """Source (B, Ls) and target (B, Lt) to logits (B, Lt, vocabulary of the target).

        Position i scores the target's token i + 1, given the source and the target up to i.
        """
        memory = self.encoder(source, source_tokens)
        return self.decode(target, target_tokens, memory, source_tokens)

    def decode(
        self,
        target: Tensor,
        target_tokens: Tokens,
        memory: Tensor,
        memory_tokens: Tokens,
        *,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """As ``forward``, from the encoder's output memory (B, Ls, D)."""
        return self.logits(self.decoder(target, target_tokens, memory, memory_tokens, cache=cache))
