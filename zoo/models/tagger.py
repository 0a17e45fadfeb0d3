"""A stack of blocks and a head at every position."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.models.decoder import Decoder
from zoo.models.encoder import Encoder


class Tagger(nn.Module):
    """Token ids to one score per tag for every token (Devlin et al. 2019, section 5.3).

    encoder: an Encoder; or a Decoder, in which a token sees itself and those before it alone.
    """

    def __init__(self, encoder: Encoder | Decoder, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to logits (B, L, tags)."""
        logits: Tensor = self.head(self.encoder(ids, tokens))
        return logits
