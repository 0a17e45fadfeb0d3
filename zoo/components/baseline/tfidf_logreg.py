"""Logistic regression on a bag of words, of pairs of words, or of n-grams of characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline

from zoo.registry.declarations import part

HELD_OUT = 0.2  # share of the training texts that features are chosen on
ENOUGH = 200  # held-out texts; fewer training texts are divided several times, at most five
MOST_TEXTS = 10_000  # that features are chosen with, because large data take minutes to fit
LEAST = 5  # texts of a class that counts in the choice: one of them is held out
# Share of the letters that are in words which two texts have in common. Below the first, n-grams of
# characters are tried too; below the second, words are not tried: they hardly ever come again.
FEW, HARDLY_ANY = 0.5, 0.1
WORDS = ("word", 1)

Features = tuple[str, int]  # words or characters, and the longest n-gram of them


@part(
    "baseline",
    "tfidf-logreg",
    source="https://scikit-learn.org/stable/modules/feature_extraction.html",
    adds=("texts", "deterministic"),
)
class TfidfLogisticRegression:
    """Logistic regression on TF-IDF of words, and of pairs of words if they help.

    Multinomial logistic regression on TF-IDF, by scikit-learn.

    Features are words or, where these hardly ever come again, as in scripts without spaces, n-grams
    of characters. c: inverse strength of the L2 penalty. ngrams: the longest n-gram of words that
    is a feature; n-grams of characters may have one character more. choose: the length is the one
    with the best accuracy on held-out training texts, the shortest of equals.
    """

    def __init__(self, *, c: float = 10.0, ngrams: int = 2, choose: bool = True) -> None:
        if c <= 0 or ngrams < 1:
            raise ValueError(f"c must be above 0 and ngrams at least 1, not {c} and {ngrams}")
        self.c, self.ngrams, self.choose, self.note = c, ngrams, choose, ""
        self.features: Features | None = None  # where they are not to be chosen
        self.pipeline: Pipeline = make_pipeline(
            TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=c, max_iter=1000)
        )

    @property
    def parameters(self) -> int:
        """How many numbers the fitted classifier holds."""
        model = self.pipeline[-1]
        return int(model.coef_.size + model.intercept_.size)

    def fit(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        """Choose the features and learn from the training split; ``note`` says what was chosen."""
        self.fitted = self.features or self._choose(texts, labels)
        self.pipeline.set_params(**_settings(*self.fitted)).fit(texts, labels)

    def chosen(self) -> TfidfLogisticRegression:
        """A new one with the features of this one, once fitted: it has nothing left to choose."""
        new = TfidfLogisticRegression(c=self.c)
        new.features, new.note = self.fitted, self.note
        return new

    def predict(self, texts: Sequence[str]) -> list[int]:
        """The label of each text."""
        return [int(label) for label in self.pipeline.predict(texts)]

    def _choose(self, texts: Sequence[str], labels: Sequence[int]) -> Features:
        share = recurring_share(texts)
        words = [("word", longest) for longest in range(1, self.ngrams + 1)]
        characters = [("char", longest) for longest in range(2, self.ngrams + 2)]
        candidates = characters if share < HARDLY_ANY else words
        if self.choose and HARDLY_ANY <= share < FEW:
            candidates = words + characters
        (kind, longest), how = candidates[-1], ""
        if self.choose:
            (kind, longest), how = self._best(candidates, texts, labels)
        if kind == "char":
            how += f"; only {share:.0%} of the letters are in words that two texts have in common"
        unit = {"word": "words", "char": "characters"}[kind]
        self.note = f"n-grams of up to {longest} {unit}{how}" if (kind, longest) != WORDS else ""
        return kind, longest

    def _best(
        self, candidates: Sequence[Features], texts: Sequence[str], labels: Sequence[int]
    ) -> tuple[Features, str]:
        """The candidate with the best accuracy, and how it was chosen; the first if none can be.

        Classes with fewer than ``LEAST`` texts do not count.
        """
        order = np.random.RandomState(0).permutation(len(texts))[:MOST_TEXTS]
        counts = Counter(labels[row] for row in order)
        rows = [row for row in order if counts[labels[row]] >= LEAST]
        if len(candidates) < 2 or len({labels[row] for row in rows}) < 2:
            return candidates[0], ""
        splits = max(1, min(5, round(ENOUGH / (HELD_OUT * len(rows)))))
        search = GridSearchCV(
            self.pipeline,
            [{name: [value] for name, value in _settings(*one).items()} for one in candidates],
            scoring="accuracy",
            cv=StratifiedShuffleSplit(splits, test_size=HELD_OUT, random_state=0),
            refit=False,
        )
        search.fit([texts[row] for row in rows], [labels[row] for row in rows])
        scores, best = search.cv_results_["mean_test_score"], search.best_index_
        first = "single words" if candidates[0] == WORDS else "the shortest"
        compared = f"accuracy {scores[best]:.3f}, {first} {scores[0]:.3f}"
        return candidates[best], f", chosen on held-out training texts ({compared})"


def recurring_share(texts: Sequence[str]) -> float:
    """The share of all letters and digits that are in words which two texts have in common."""
    analyze = TfidfVectorizer().build_analyzer()
    words = [analyze(text) for text in texts]
    texts_with = Counter(word for its in words for word in set(its))
    common = sum(len(word) for its in words for word in its if texts_with[word] > 1)
    return common / max(1, sum(sum(map(str.isalnum, text)) for text in texts))


def _settings(kind: str, longest: int) -> dict[str, Any]:
    """The settings of the pipeline for n-grams of up to so many words or characters."""
    return {
        "tfidfvectorizer__analyzer": kind,
        "tfidfvectorizer__ngram_range": (1, longest),
    }
