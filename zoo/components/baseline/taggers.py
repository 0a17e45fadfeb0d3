"""Taggers: the most frequent tag of a token, and logistic regression on it and its neighbours."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from zoo.registry.declarations import part

IGNORED, EDGE = -100, ""  # EDGE: in place of a neighbour that a text does not have


@part(
    "baseline",
    "frequent-tag",
    source="Jurafsky and Martin, Speech and Language Processing, on part-of-speech tagging",
    adds=("token-texts", "deterministic"),
)
class FrequentTag:
    """Every token's most frequent tag in training, for --task tag.

    Ties go to the lower number. A token that training lacks gets the most frequent tag of all.
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


@part(
    "baseline",
    "window-logreg",
    source="https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression",
    adds=("token-texts", "deterministic"),
)
class WindowLogisticRegression:
    """Logistic regression on a token and its neighbours, for --task tag.

    Multinomial, by scikit-learn, with a feature for each token at each place of the window.
    size: how many neighbours there are on each side. c: inverse strength of the L2 penalty.
    """

    def __init__(self, *, size: int = 2, c: float = 10.0) -> None:
        if c <= 0 or size < 0:
            raise ValueError(f"c must be above 0 and size at least 0, not {c} and {size}")
        self.size = size
        self.pipeline: Pipeline = make_pipeline(
            OneHotEncoder(handle_unknown="ignore"), LogisticRegression(C=c, max_iter=200)
        )

    @property
    def parameters(self) -> int:
        """How many numbers the fitted classifier holds."""
        model = self.pipeline[-1]
        return int(model.coef_.size + model.intercept_.size)

    def fit(self, texts: Sequence[Sequence[str]], tags: Sequence[Sequence[int]]) -> None:
        """Learn from the tokens whose tag is not -100."""
        labels = np.concatenate([np.asarray(each, dtype=np.int64) for each in tags])
        scored = labels != IGNORED
        self.pipeline.fit(self._windows(texts)[scored], labels[scored])

    def predict(self, texts: Sequence[Sequence[str]]) -> list[list[int]]:
        """A tag for every token of every text."""
        ends = np.cumsum([len(tokens) for tokens in texts])[:-1]
        tags = self.pipeline.predict(self._windows(texts))
        return [part.tolist() for part in np.split(tags, ends)]

    def _windows(self, texts: Sequence[Sequence[str]]) -> np.ndarray:
        """Each token with its neighbours (tokens, 2 · size + 1)."""
        edge, width = [EDGE] * self.size, 2 * self.size + 1
        rows = []
        for tokens in texts:
            padded = [*edge, *tokens, *edge]
            rows += [padded[start : start + width] for start in range(len(tokens))]
        return np.array(rows, dtype=object)


def _most_frequent(count: Counter[int]) -> int:
    return min(count, key=lambda tag: (-count[tag], tag))
