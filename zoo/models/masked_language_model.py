"""An encoder that predicts tokens from those on both sides of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.models.encoder import Encoder


class MaskedLanguageModel(nn.Module):
    """Token ids to scores of what each token is (Devlin et al. 2019, section 3.1).

    transform: (…, D) to (…, D), before the token embeddings score the tokens. A token has a bias.
    """

    def __init__(self, encoder: Encoder, transform: nn.Module) -> None:
        super().__init__()
        self.encoder, self.transform = encoder, transform
        self.bias = nn.Parameter(torch.zeros(encoder.embedding.num_embeddings))

    @torch.no_grad()
    def expect(self, counts: npt.NDArray[np.int64]) -> None:
        """Begin with the bias ln P(token), of the tokens of the training texts.

        counts: (vocabulary), how often each occurs; one is added. A bias of zeros takes thousands
        of steps to become that, in which little else is learned.
        """
        self.bias.copy_(torch.from_numpy(np.log((counts + 1) / (counts + 1).sum())))

    def forward(self, ids: Tensor, tokens: Tokens, places: Tensor | None = None) -> Tensor:
        """Ids (B, L) to logits (B, L, vocabulary).

        places: int (n), of the B · L tokens those that are wanted; the logits are then (n,
        vocabulary), and the others, which are most of the work, are not computed.
        """
        x = self.encoder(ids, tokens)
        if places is not None:
            x = x.flatten(0, 1)[places]
        return F.linear(self.transform(x), self.encoder.embedding.weight, self.bias)


def masked_head(dim: int) -> nn.Module:
    """BERT's: linear, GELU, layer norm."""
    return nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))
