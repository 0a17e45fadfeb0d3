"""An encoder that reads one text and a decoder that writes another."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.models.decoder import Decoder
from zoo.models.decoding.cache import DecoderCache
from zoo.models.encoder import Encoder
from zoo.models.token_scorer import TokenScorer


class EncoderDecoder(TokenScorer):
    """The whole transformer (Vaswani et al. 2017, figure 1).

    In cross-attention the queries are the decoder's, the keys and values the encoder's. One
    well-known tutorial has it the other way round, which would give an output of the source's
    length; see ``zoo.components.block.base.Block``.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder, head: nn.Module | None = None) -> None:
        super().__init__(decoder, head)
        self.encoder = encoder

    def forward(
        self, source: Tensor, source_tokens: Tokens, target: Tensor, target_tokens: Tokens
    ) -> Tensor:
        """Source (B, Ls) and target (B, Lt) to logits (B, Lt, vocabulary of the target).

        Row i scores the target's token i + 1 from the source and the target up to i.
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
        """As ``forward``, from what ``encoder`` made of the source (B, Ls, D)."""
        return self.logits(self.decoder(target, target_tokens, memory, memory_tokens, cache=cache))
