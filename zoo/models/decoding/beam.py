"""Beam search: the likeliest texts, several at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.models.decoding.steps import Steps

Found = tuple[list[int], bool, float]


@dataclass
class _Best:
    """The best finished text so far: its tokens, whether it ended, log-probability and rank."""

    found: Found = ([], False, -float("inf"))
    rank: float = -float("inf")

    def offer(self, ids: list[int], ended: bool, total: float, penalty: float) -> None:
        """Take this text where it ranks higher: log-probability / length^penalty.

        The token that ends a text counts in its length.
        """
        rank = total / max(1, len(ids) + ended) ** penalty
        if rank > self.rank:
            self.found, self.rank = (ids, ended, total), rank


def beam_search(
    steps: Steps,
    allowed: Callable[[Tensor], Tensor],
    *,
    beams: int,
    max_new: int,
    end: int | None,
    length_penalty: float,
) -> list[Found]:
    """For each text (new tokens without the end, whether it ended, log-probability).

    A finished text leaves the beam, which goes on that much narrower (Sutskever et al. 2014,
    section 3.2), so that one beam is greedy decoding and enough beams are an exhaustive search.
    allowed: scores (rows, V) to the same with -inf for what must not come.
    """
    batch, prompt = steps.ids.shape
    best = [_Best() for _ in range(batch)]
    scores = steps.scores()
    device, vocabulary = scores.device, scores.shape[1]
    first = torch.arange(batch, device=device)[:, None] * beams  # (B, 1), each text's first row
    steps.reorder(torch.arange(batch, device=device).repeat_interleave(beams))
    scores = scores.repeat_interleave(beams, dim=0)  # (B * beams, V)
    # Log-probability of each beam (B, beams), -inf where there is none: at first they are all one.
    totals = scores.new_full((batch, beams), -torch.inf)
    totals[:, 0] = 0.0
    free = torch.full_like(first, beams)  # (B, 1), places not taken by finished texts
    place = torch.arange(beams, device=device)

    def offer(which: Tensor, ended: bool) -> None:
        """Hold the beams that ``which`` (bool (B, beams)) names against the best so far."""
        for text, beam in which.nonzero().tolist():
            written = steps.ids[text * beams + beam, prompt:].tolist()
            best[text].offer(written, ended, totals[text, beam].item(), length_penalty)

    for step in range(max_new):
        scores = allowed(scores if step == 0 else steps.scores()).unflatten(0, (batch, beams))
        # Where nothing is allowed, the text goes no further.
        offer((scores == -torch.inf).all(dim=2) & (totals > -torch.inf), False)
        sums = totals[:, :, None] + scores
        totals, picks = sums.flatten(1).topk(beams, dim=1)
        totals = totals.masked_fill(place >= free, -torch.inf)
        tokens = picks % vocabulary
        steps.reorder((first + picks // vocabulary).flatten())
        if end is not None:
            finished = (tokens == end) & (totals > -torch.inf)
            offer(finished, True)
            free = free - finished.sum(dim=1, keepdim=True)
            totals = totals.masked_fill(finished, -torch.inf)
        alive = totals > -torch.inf
        if not alive.any():
            return [one.found for one in best]
        steps.append(tokens.flatten(), alive.flatten())
    offer(totals > -torch.inf, False)
    return [one.found for one in best]
