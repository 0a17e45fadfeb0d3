"""An n-gram model of a token between its two neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NONE = 0  # the neighbour of the last token of a text: padding


class NeighbourNGram:
    """Counts of tokens between neighbours, with Witten-Bell smoothing (1991, method C).

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
        self.alone = self.left = self.right = self.both = _Counts(np.empty(0, dtype=np.int64), 1)

    @property
    def parameters(self) -> int:
        """How many numbers the fitted model holds."""
        levels = (self.alone, self.left, self.right, self.both)
        return sum(len(level.tokens) + 2 * len(level.contexts) for level in levels)

    def fit(self, texts: Sequence[Ids]) -> None:
        """Count the tokens of texts, each int (tokens); the first of a text is never masked."""
        size = self.vocab_size
        tokens, left, right = (
            np.concatenate(part) for part in zip(*map(_split, texts), strict=True)
        )
        self.alone = _Counts(tokens, size)
        self.left = _Counts(left * size + tokens, size)
        self.right = _Counts(right * size + tokens, size)
        self.both = _Counts((left * size + right) * size + tokens, size)

    def log_probabilities(self, ids: Ids, places: Ids) -> Floats:
        """ln P (places, vocab_size) of every token at each of these places of a text (tokens).

        What stands at the places is not read; a neighbour that is masked has the mask's id.
        """
        size, alone = self.vocab_size, self.alone.smoothed(0, self.uniform)
        after = np.append(ids, NONE)
        found = np.empty((len(places), size))
        for row, place in enumerate(places):
            before, behind = int(ids[place - 1]), int(after[place + 1])
            apart = self.left.smoothed(before, alone) * self.right.smoothed(behind, alone) / alone
            found[row] = self.both.smoothed(before * size + behind, apart / apart.sum())
        return np.log(found)


class _Counts:
    """How often each token was seen in each context.

    numbers: of every occurrence, context · base + token; base: the number of tokens.
    """

    def __init__(self, numbers: Ids, base: int) -> None:
        different, counts = np.unique(numbers, return_counts=True)
        self.tokens, self.counts = different % base, counts
        self.contexts, firsts = np.unique(different // base, return_index=True)
        self.bounds = np.append(firsts, len(different))

    def smoothed(self, context: int, lower: Floats) -> Floats:
        """P of every token in a context (vocab_size), from P without it."""
        place = int(np.searchsorted(self.contexts, context))
        if place == len(self.contexts) or self.contexts[place] != context:
            return lower
        seen = slice(*self.bounds[place : place + 2])
        kinds = seen.stop - seen.start
        found = kinds * lower
        found[self.tokens[seen]] += self.counts[seen]
        smoothed: Floats = found / (self.counts[seen].sum() + kinds)
        return smoothed


def _split(ids: Ids) -> tuple[Ids, Ids, Ids]:
    """Every token of a text but the first, and the ones before and after it."""
    wide = np.asarray(ids, dtype=np.int64)
    return wide[1:], wide[:-1], np.append(wide[2:], NONE)
