"""The partial texts of a batch, and the scores of their next tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.token_scorer import TokenScorer


class Hypotheses:
    """A batch of texts that grows by one token a step.

    ids: int (B, L), the prompts. attention_mask: bool (B, L), True where a token is real, None
    where all are. Padding may stand anywhere: a token's position is the number of real tokens
    before it. memory, memory_tokens: what cross-attention reads. cached: whether to keep keys and
    values from one step to the next.
    """

    def __init__(
        self,
        model: TokenScorer,
        ids: Tensor,
        attention_mask: Tensor | None,
        memory: Tensor | None = None,
        memory_tokens: Tokens | None = None,
        *,
        cached: bool,
    ) -> None:
        self.model, self.ids, self.attention_mask = model, ids, attention_mask
        self.memory, self.memory_tokens = memory, memory_tokens
        self.cache = model.decoder.new_cache() if cached else None

    def scores(self) -> Tensor:
        """The log-probability of each next token (B, V), in float32 or wider."""
        tokens = text_tokens(self.ids, self.attention_mask)
        start = 0 if self.cache is None else self.cache.length
        if start:
            tokens = tokens[start:]
        x = self.model.decoder(
            self.ids[:, start:], tokens, self.memory, self.memory_tokens, cache=self.cache
        )
        if tokens.attention_mask is None:
            last = x[:, -1]
        else:
            index = torch.arange(x.shape[1], device=x.device)
            last_real = torch.where(tokens.attention_mask, index, 0).amax(dim=1)
            last = x[torch.arange(len(x), device=x.device), last_real]
        logits = self.model.logits(last)
        if logits.dtype.itemsize < 4:
            logits = logits.float()
        return logits.log_softmax(dim=-1)

    def append(self, tokens: Tensor) -> None:
        """One more token (B) for every text, also for those that have ended: nothing reads them."""
        tokens = tokens[:, None]
        self.ids = torch.cat([self.ids, tokens], dim=1)
        if self.attention_mask is not None:
            real = torch.ones_like(tokens, dtype=torch.bool)
            self.attention_mask = torch.cat([self.attention_mask, real], dim=1)

    def select(self, texts: Tensor) -> None:
        """Continue with these texts of the batch (int (B')), each as often as it is named."""
        self.ids = self.ids[texts]
        if self.attention_mask is not None:
            self.attention_mask = self.attention_mask[texts]
        if self.memory is not None and self.memory_tokens is not None:
            self.memory = self.memory[texts]
            self.memory_tokens = self.memory_tokens.select(texts)
        if self.cache is not None:
            self.cache.select(texts)


def text_tokens(ids: Tensor, attention_mask: Tensor | None) -> Tokens:
    """The tokens of ids (B, L), with positions that count real tokens only."""
    if attention_mask is None:
        return Tokens.whole(ids.shape[1], ids.device)
    return Tokens(attention_mask, (attention_mask.cumsum(dim=1) - 1).clamp_min(0))
