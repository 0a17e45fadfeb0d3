"""Models of tokens by counts, smoothed: after those before, and between two neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zoo.registry.declarations import part

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NONE = 0  # the neighbour of the last token of a text: padding


class ContextCounts:
    """How often each token was seen in each context, and how many different ones (followers).

    occurrences: context · base + token of each one, where base is the number of tokens. All arrays
    are in ascending order of such numbers.
    """

    def __init__(self, occurrences: Ids, base: int) -> None:
        self.numbers, self.counts = np.unique(occurrences, return_counts=True)
        self.tokens = self.numbers % base
        self.contexts, self.firsts, self.followers = np.unique(
            self.numbers // base, return_index=True, return_counts=True
        )
        self.totals = np.add.reduceat(self.counts, self.firsts)

    def __len__(self) -> int:
        return len(self.numbers) + 2 * len(self.contexts)


@part(
    "baseline",
    "ngram",
    source="Witten and Bell, IEEE Transactions on Information Theory 37(4), 1991",
    adds=("stream", "deterministic"),
)
class NGram:
    """An interpolated n-gram of tokens, for --task lm.

    Witten-Bell smoothing (Witten and Bell 1991, method C):
    P(w | h) = (c(h w) + t(h) P(w | h')) / (c(h) + t(h)): c counts, t is how many different tokens
    follow h, and h' is h without its oldest token; below order 1 all tokens are equally likely.
    order: n. Raises ValueError for an order below 1, or too high for n-grams to fit 64 bits.
    """

    def __init__(self, *, vocab_size: int, order: int = 3) -> None:
        if order < 1 or vocab_size**order >= 2**63:
            raise ValueError(f"order must be 1 or more and {vocab_size}^order under 2^63")
        self.vocab_size, self.order = vocab_size, order
        self.levels: list[ContextCounts] = []

    @property
    def parameters(self) -> int:
        """How many numbers the fitted model holds."""
        return sum(map(len, self.levels))

    def fit(self, ids: Ids) -> None:
        """Count the n-grams of ids (tokens)."""
        sizes = range(1, min(self.order, len(ids)) + 1)
        self.levels = [ContextCounts(self._ngrams(ids, n), self.vocab_size) for n in sizes]

    def nats(self, ids: Ids) -> Floats:
        """-ln P of every token but the first (tokens - 1), given those before it."""
        probabilities = np.full(len(ids), 1 / self.vocab_size)
        for size, level in enumerate(self.levels, start=1):
            if len(ids) < size:
                break
            ngrams = self._ngrams(ids, size)
            seen = _lookup(level.numbers, level.counts, ngrams)
            contexts = ngrams // self.vocab_size
            totals = _lookup(level.contexts, level.totals, contexts)
            followers = _lookup(level.contexts, level.followers, contexts)
            known = totals > 0
            part = probabilities[size - 1 :]
            part[known] = ((seen + followers * part) / np.maximum(1, totals + followers))[known]
        nats: Floats = -np.log(probabilities[1:])
        return nats

    def _ngrams(self, ids: Ids, size: int) -> Ids:
        """Every n-gram of ``size`` tokens as one number (tokens - size + 1)."""
        windows = np.lib.stride_tricks.sliding_window_view(np.asarray(ids, dtype=np.int64), size)
        numbers: Ids = windows @ (self.vocab_size ** np.arange(size - 1, -1, -1, dtype=np.int64))
        return numbers


@part(
    "baseline",
    "neighbour-ngram",
    source="Witten and Bell, IEEE Transactions on Information Theory 37(4), 1991",
    adds=("masked", "deterministic"),
)
class NeighbourNGram:
    """Counts of tokens between two neighbours, for --task mlm.

    Witten-Bell smoothing (1991, method C):
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


def _lookup(keys: Ids, values: Ids, wanted: Ids) -> Ids:
    """The value of each key, 0 where there is none."""
    places = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    result: Ids = np.where(keys[places] == wanted, values[places], 0)
    return result


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
