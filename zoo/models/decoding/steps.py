"""A model fed with its own tokens, with a cache or without."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.decoding.cache import picked
from zoo.models.token_scorer import TokenScorer


class Steps:
    """The texts of a batch as they grow; every step scores the token after each.

    ids, padding (bool, True where real): (B, L), the prompts. Padding may stand on either side or
    in between: a token's position is the number of real tokens before it.
    memory, memory_tokens: what the decoder looks at. cached: whether to keep keys and values.
    """

    def __init__(
        self,
        model: TokenScorer,
        ids: Tensor,
        attention_mask: Tensor,
        memory: Tensor | None = None,
        memory_tokens: Tokens | None = None,
        *,
        cached: bool,
    ) -> None:
        self.model, self.ids, self.attention_mask = model, ids, attention_mask
        self.memory, self.memory_tokens = memory, memory_tokens
        self.cache = model.decoder.new_cache() if cached else None

    def scores(self) -> Tensor:
        """The logarithm of the probability of each token (B, V), in float32 or wider."""
        done = 0 if self.cache is None else self.cache.length
        positions = (self.attention_mask.cumsum(dim=1) - 1).clamp_min(0)
        new = Tokens(self.attention_mask, positions)[done:]
        x = self.model.decoder(
            self.ids[:, done:], new, self.memory, self.memory_tokens, cache=self.cache
        )
        assert new.attention_mask is not None
        places = torch.arange(x.shape[1], device=x.device)
        last = torch.where(new.attention_mask, places, 0).amax(dim=1)  # of the real ones
        logits = self.model.logits(x[torch.arange(len(x), device=x.device), last])
        if logits.dtype.itemsize < 4:
            logits = logits.float()
        return logits.log_softmax(dim=-1)

    def append(self, tokens: Tensor, real: Tensor) -> None:
        """One more token (B) for every text; padding where it is not real (bool (B))."""
        self.ids = torch.cat([self.ids, tokens[:, None]], dim=1)
        self.attention_mask = torch.cat([self.attention_mask, real[:, None]], dim=1)

    def reorder(self, rows: Tensor) -> None:
        """Go on with these texts of the batch (int (B')), each as often as it is named."""
        self.ids, self.attention_mask = self.ids[rows], self.attention_mask[rows]
        if self.memory is not None and self.memory_tokens is not None:
            self.memory = self.memory[rows]
            self.memory_tokens = picked(self.memory_tokens, rows)
        if self.cache is not None:
            self.cache.reorder(rows)
