"""Logistic regression on a bag of words."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline


class TfidfLogisticRegression:
    """Multinomial logistic regression on TF-IDF, by scikit-learn.

    c: inverse strength of the L2 penalty. ngrams: the longest n-gram of words that is a feature.
    """

    def __init__(self, *, c: float = 10.0, ngrams: int = 1) -> None:
        if c <= 0 or ngrams < 1:
            raise ValueError(f"c must be above 0 and ngrams at least 1, not {c} and {ngrams}")
        self.pipeline: Pipeline = make_pipeline(
            TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=True),
            LogisticRegression(C=c, max_iter=1000),
        )

    @property
    def parameters(self) -> int:
        """How many numbers the fitted classifier holds."""
        model = self.pipeline[-1]
        return int(model.coef_.size + model.intercept_.size)

    def fit(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        """Learn from the training split."""
        self.pipeline.fit(texts, labels)

    def predict(self, texts: Sequence[str]) -> list[int]:
        """The label of each text."""
        return [int(label) for label in self.pipeline.predict(texts)]
