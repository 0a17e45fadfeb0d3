"""The most frequent tag of every token."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from zoo.registry.declarations import part

IGNORED = -100


@part(
    "baseline",
    "frequent-tag",
    source="Jurafsky and Martin, Speech and Language Processing, on part-of-speech tagging",
    adds=("token-texts", "deterministic"),
)
class FrequentTag:
    """Every token's most frequent tag, for --task tag.

    Gives every token the tag that it has most often in training; ties go to the lower number.

    A token that training lacks gets the most frequent tag of all.
    """

    def fit(self, texts: Sequence[Sequence[str]], tags: Sequence[Sequence[int]]) -> None:
        """Count the tags of every token, except those that are -100."""
        counts: dict[str, Counter[int]] = defaultdict(Counter)
        for tokens, own in zip(texts, tags, strict=True):
            for token, tag in zip(tokens, own, strict=True):
                if tag != IGNORED:
                    counts[token][tag] += 1
        self.tags = {token: _most_frequent(count) for token, count in counts.items()}
        self.other = _most_frequent(sum(counts.values(), Counter()))
        self.parameters = len(self.tags) + 1

    def predict(self, texts: Sequence[Sequence[str]]) -> list[list[int]]:
        """A tag for every token of every text."""
        return [[self.tags.get(token, self.other) for token in tokens] for tokens in texts]


def _most_frequent(count: Counter[int]) -> int:
    return min(count, key=lambda tag: (-count[tag], tag))
