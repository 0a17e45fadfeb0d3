"""Which token comes next: the likeliest, or one drawn from the likely ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """How to draw: first temperature, then top-k, then top-p.

    temperature: logits are divided by it; above 0. top_k: only the k likeliest. top_p: only the
    fewest tokens that hold this share of the probability together (Holtzman et al. 2020, section
    3.1). Raises ValueError, one line, for what cannot be.
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
        """Scores (B, V), -inf for what must not come, to the probabilities (B, V) drawn from."""
        scores = scores / self.temperature
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            kept = scores.topk(self.top_k, dim=-1)
            scores = torch.full_like(scores, -torch.inf).scatter(-1, kept.indices, kept.values)
        if self.top_p is not None and self.top_p < 1:
            shares, order = scores.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
            enough = shares.cumsum(dim=-1) - shares >= self.top_p  # without this one already
            scores = scores.masked_fill(enough.scatter(-1, order, enough), -torch.inf)
        return scores.softmax(dim=-1)

    def draw(self, scores: Tensor, generator: torch.Generator) -> Tensor:
        """A token (B) per row of scores (B, V), each row by one number of the generator.

        All of it on the CPU, so that one seed draws alike on every device.
        """
        sums = self.probabilities(scores.cpu().double()).cumsum(dim=-1)
        drawn = torch.rand(len(sums), 1, generator=generator, dtype=torch.float64)
        tokens = torch.searchsorted(sums, drawn * sums[:, -1:], right=True)[:, 0]
        return tokens.clamp_max(sums.shape[-1] - 1).to(scores.device)


def repeats(ids: Tensor, attention_mask: Tensor, size: int, vocab_size: int) -> Tensor:
    """Which tokens would repeat a run of ``size`` tokens: bool (B, V), True where one would.

    ids, padding (bool, True where real): (B, L), the texts so far (Paulus et al. 2018, section
    2.5, for any size).
    """
    banned = torch.zeros(len(ids), vocab_size, dtype=torch.bool)
    for row, (text, real) in enumerate(zip(ids.cpu(), attention_mask.cpu(), strict=True)):
        words = text[real]
        if len(words) < size:
            continue
        runs = words.unfold(0, size, 1)  # (runs, size)
        same = (runs[:, :-1] == words[len(words) - size + 1 :]).all(dim=1)
        banned[row, runs[same, -1]] = True
    return banned.to(ids.device)
