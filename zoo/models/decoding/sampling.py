"""Sampling the next token."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """How to sample: first temperature, then top-k, then top-p.

    temperature: logits are divided by it; above 0. top_k: only the k likeliest tokens. top_p: only
    the smallest set of tokens with this total probability (Holtzman et al. 2020, section 3.1).
    Raises ValueError, one line, for values out of range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature must be above 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top-k must be 1 or more, not {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top-p must be above 0 and at most 1, not {self.top_p}")

    def probabilities(self, scores: Tensor) -> Tensor:
        """Scores (B, V), -inf for forbidden tokens, to the probabilities (B, V) to sample from."""
        scores = scores / self.temperature
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            likeliest = scores.topk(self.top_k, dim=-1)
            scores = torch.full_like(scores, -torch.inf).scatter(
                -1, likeliest.indices, likeliest.values
            )
        if self.top_p is not None and self.top_p < 1:
            sorted_probabilities, order = scores.softmax(dim=-1).sort(
                dim=-1, descending=True, stable=True
            )
            before = sorted_probabilities.cumsum(dim=-1) - sorted_probabilities
            enough = before >= self.top_p
            scores = scores.masked_fill(enough.scatter(-1, order, enough), -torch.inf)
        return scores.softmax(dim=-1)

    def sample(self, scores: Tensor, generator: torch.Generator) -> Tensor:
        """A token (B) for each row of scores (B, V), by one random number per row.

        Computed on the CPU, so that one seed gives the same tokens on every device.
        """
        sums = self.probabilities(scores.cpu().double()).cumsum(dim=-1)
        drawn = torch.rand(len(sums), 1, generator=generator, dtype=torch.float64)
        tokens = torch.searchsorted(sums, drawn * sums[:, -1:], right=True)[:, 0]
        return tokens.clamp_max(sums.shape[-1] - 1).to(scores.device)


def repeats(ids: Tensor, attention_mask: Tensor | None, size: int, vocab_size: int) -> Tensor:
    """Which tokens would repeat an n-gram of ``size`` tokens: bool (B, V), True where one would.

    ids, attention_mask (bool, True where real, None: all): (B, L), the texts so far. Paulus et al.
    2018, section 2.5, for any size.
    """
    banned = torch.zeros(len(ids), vocab_size, dtype=torch.bool)
    texts = ids.cpu()
    real = torch.ones_like(texts, dtype=torch.bool) if attention_mask is None else attention_mask
    for row, (text, mask) in enumerate(zip(texts, real.cpu(), strict=True)):
        words = text[mask]
        if len(words) < size:
            continue
        ngrams = words.unfold(0, size, 1)  # (n-grams, size)
        same = (ngrams[:, :-1] == words[len(words) - size + 1 :]).all(dim=1)
        banned[row, ngrams[same, -1]] = True
    return banned.to(ids.device)
