"""An interpolated n-gram language model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from zoo.registry.declarations import part

Ids = npt.NDArray[np.int64]


class ContextCounts:
    """How often each token was seen in each context, and how many different ones (followers).

    given: of every occurrence context · base + token, where base is the number of tokens. All
    arrays are in ascending order of such numbers.
    """

    def __init__(self, given: Ids, base: int) -> None:
        self.numbers, self.counts = np.unique(given, return_counts=True)
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

    An n-gram model of token ids with Witten-Bell smoothing (Witten and Bell 1991, method C).

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

    def nats(self, ids: Ids) -> npt.NDArray[np.float64]:
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
        nats: npt.NDArray[np.float64] = -np.log(probabilities[1:])
        return nats

    def _ngrams(self, ids: Ids, size: int) -> Ids:
        """Every n-gram of ``size`` tokens as one number (tokens - size + 1)."""
        windows = np.lib.stride_tricks.sliding_window_view(np.asarray(ids, dtype=np.int64), size)
        numbers: Ids = windows @ (self.vocab_size ** np.arange(size - 1, -1, -1, dtype=np.int64))
        return numbers


def _lookup(keys: Ids, values: Ids, wanted: Ids) -> Ids:
    """The value of each key, 0 where there is none."""
    places = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    found: Ids = np.where(keys[places] == wanted, values[places], 0)
    return found
