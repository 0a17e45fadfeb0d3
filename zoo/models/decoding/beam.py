"""Beam search."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from zoo.models.decoding.hypotheses import Hypotheses

Found = tuple[list[int], bool, float]


def beam_search(
    texts: Hypotheses,
    allowed: Callable[[Tensor], Tensor],
    *,
    beams: int,
    max_new: int,
    end: int | None,
    length_penalty: float,
) -> list[Found]:
    """For each text (new tokens without the end, whether it ended, log-probability).

    A finished text leaves the beam, which continues with one place less (Sutskever et al. 2014,
    section 3.2), so that one beam is greedy decoding and enough beams are an exhaustive search.
    allowed: scores (B * beams, V) to the same with -inf for tokens that must not be generated.
    """
    batch, prompt = texts.ids.shape
    best: list[tuple[float, Found]] = [(-torch.inf, ([], False, -torch.inf))] * batch
    scores = texts.scores()
    device, vocabulary = scores.device, scores.shape[1]
    first = torch.arange(batch, device=device)[:, None] * beams  # (B, 1), each text's first beam
    texts.select(torch.arange(batch, device=device).repeat_interleave(beams))
    scores = scores.repeat_interleave(beams, dim=0)  # (B * beams, V)
    # Log-probability of each beam (B, beams), -inf for none: all start as copies of the first.
    totals = scores.new_full((batch, beams), -torch.inf)
    totals[:, 0] = 0.0
    free = torch.full_like(first, beams)  # (B, 1), places that no finished text has used up
    place = torch.arange(beams, device=device)

    def offer(which: Tensor, ended: bool) -> None:
        """Compare the beams in ``which`` (bool (B, beams)) with each text's best so far."""
        for text, beam in which.nonzero().tolist():
            ids = texts.ids[text * beams + beam, prompt:].tolist()
            total = totals[text, beam].item()
            # The token that ends a text counts in its length.
            rank = total / max(1, len(ids) + ended) ** length_penalty
            if rank > best[text][0]:
                best[text] = rank, (ids, ended, total)

    for step in range(max_new):
        scores = allowed(scores if step == 0 else texts.scores()).unflatten(0, (batch, beams))
        # Where no token is allowed, the text stops.
        offer((scores == -torch.inf).all(dim=2) & (totals > -torch.inf), False)
        sums = totals[:, :, None] + scores
        totals, picks = sums.flatten(1).topk(beams, dim=1)
        totals = totals.masked_fill(place >= free, -torch.inf)
        tokens = picks % vocabulary
        texts.select((first + picks // vocabulary).flatten())
        if end is not None:
            finished = (tokens == end) & (totals > -torch.inf)
            offer(finished, True)
            free = free - finished.sum(dim=1, keepdim=True)
            totals = totals.masked_fill(finished, -torch.inf)
        if not (totals > -torch.inf).any():
            return [found for _, found in best]
        texts.append(tokens.flatten())
    offer(totals > -torch.inf, False)
    return [found for _, found in best]
