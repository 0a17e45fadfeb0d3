"""What stands on a stack: classifier, tagger, language models and encoder-decoder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.pool.base import Pool
from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import DecoderCache
from zoo.models.stack import Decoder, Encoder


class Classifier(nn.Module):
    """Token ids to one score per class."""

    def __init__(self, encoder: Encoder, pool: Pool, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.pool, self.head = encoder, pool, head

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to logits (B, classes)."""
        reads = self.pool.reads if tokens.in_order else None
        x = self.encoder(ids, tokens, reads)
        attention_mask = (tokens if reads is None else tokens[reads]).attention_mask
        logits: Tensor = self.head(self.pool(x, attention_mask))
        return logits


def classification_head(dim: int, hidden: int, classes: int, dropout: float) -> nn.Module:
    """Linear, ReLU, linear; a single linear layer where hidden is 0."""
    inner = [nn.Linear(dim, hidden), nn.ReLU()] if hidden else []
    return nn.Sequential(nn.Dropout(dropout), *inner, nn.Linear(hidden or dim, classes))


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


class TokenScorer(nn.Module):
    """A decoder whose token embeddings score the tokens too (Press and Wolf 2017)."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def logits(self, x: Tensor) -> Tensor:
        """The decoder's vectors (…, D) to a score per token (…, vocabulary)."""
        return F.linear(x, self.decoder.embedding.weight)


class LanguageModel(TokenScorer):
    """Token ids to scores of the next token (Radford et al. 2019)."""

    def forward(self, ids: Tensor, tokens: Tokens, *, cache: DecoderCache | None = None) -> Tensor:
        """Ids (B, L) to logits (B, L, vocabulary); position i scores token i + 1."""
        return self.logits(self.decoder(ids, tokens, cache=cache))


class EncoderDecoder(TokenScorer):
    """The whole transformer (Vaswani et al. 2017, figure 1).

    In cross-attention the queries are the decoder's, the keys and values the encoder's.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__(decoder)
        self.encoder = encoder

    def forward(
        self, source: Tensor, source_tokens: Tokens, target: Tensor, target_tokens: Tokens
    ) -> Tensor:
        """Source (B, Ls) and target (B, Lt) to logits (B, Lt, vocabulary of the target).

        Position i scores the target's token i + 1, given the source and the target up to i.
        """
        memory = self.encoder(source, source_tokens)
        return self.logits(self.decoder(target, target_tokens, memory, source_tokens))


@contextlib.contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Without dropout and gradients inside the block; afterwards every module is as it was."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for part in training:
            part.training = True
