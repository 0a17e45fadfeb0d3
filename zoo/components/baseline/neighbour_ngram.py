"""An n-gram model of a token between its two neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zoo.components.baseline.ngram import ContextCounts, Ids
from zoo.registry.declarations import part

Floats = npt.NDArray[np.float64]

NONE = 0  # the neighbour of the last token of a text: padding


@part(
    "baseline",
    "neighbour-ngram",
    source="Witten and Bell, IEEE Transactions on Information Theory 37(4), 1991",
    adds=("masked", "deterministic"),
)
class NeighbourNGram:
    """Counts of tokens between two neighbours, for --task mlm.

    Counts of tokens between neighbours, with Witten-Bell smoothing (1991, method C).

    P(w | l, r) = (c(l w r) + t(l, r) P'(w | l, r)) / (c(l, r) + t(l, r)): c counts, t is how many
    different tokens stand between l and r. P' takes the neighbours as independent given the token,
    P'(w | l, r) ∝ P(w | l) P(w | r) / P(w), where P(w | l) and P(w | r) are smoothed likewise with
    P(w), and P(w) with all tokens equally likely. A neighbour that was never seen, as a mask, tells
    nothing: P(w | l) is then P(w). Raises ValueError where n-grams do not fit 64 bits.
    """

    def __init__(self, *, vocab_size: int) -> None:
        if vocab_size**3 >= 2**63:
            raise ValueError(f"a vocabulary of {vocab_size} is too large for counts in 64 bits")
        self.vocab_size = vocab_size
        self.uniform = np.full(vocab_size, 1 / vocab_size)
        self.levels: list[ContextCounts] = []  # of a token alone, by the left, the right, and both

    @property
    def parameters(self) -> int:
        """How many numbers the fitted model holds."""
        return sum(map(len, self.levels))

    def fit(self, texts: Sequence[Ids]) -> None:
        """Count the tokens of texts, each int (tokens); the first of a text is never masked."""
        size = self.vocab_size
        tokens, left, right = (
            np.concatenate(part) for part in zip(*map(_split, texts), strict=True)
        )
        contexts = (0, left, right, left * size + right)
        self.levels = [ContextCounts(context * size + tokens, size) for context in contexts]

    def log_probabilities(self, ids: Ids, places: Ids) -> Floats:
        """ln P (places, vocab_size) of every token at each of these places of a text (tokens).

        What stands at the places is not read; a neighbour that is masked has the mask's id.
        """
        anywhere, left, right, both = self.levels
        size, alone = self.vocab_size, _smoothed(anywhere, 0, self.uniform)
        after = np.append(ids, NONE)
        rows = []
        for place in places:
            before, behind = int(ids[place - 1]), int(after[place + 1])
            apart = _smoothed(left, before, alone) * _smoothed(right, behind, alone) / alone
            rows.append(_smoothed(both, before * size + behind, apart / apart.sum()))
        return np.log(np.reshape(rows, (len(places), size)))


def _smoothed(counts: ContextCounts, context: int, lower: Floats) -> Floats:
    """P of every token in a context (vocab_size), from P without it."""
    place = int(np.searchsorted(counts.contexts, context))
    if place == len(counts.contexts) or counts.contexts[place] != context:
        return lower
    kinds = int(counts.followers[place])
    seen = slice(counts.firsts[place], counts.firsts[place] + kinds)
    smoothed: Floats = kinds * lower
    smoothed[counts.tokens[seen]] += counts.counts[seen]
    smoothed /= counts.totals[place] + kinds
    return smoothed


def _split(ids: Ids) -> tuple[Ids, Ids, Ids]:
    """Every token of a text but the first, and the ones before and after it."""
    wide = np.asarray(ids, dtype=np.int64)
    return wide[1:], wide[:-1], np.append(wide[2:], NONE)
