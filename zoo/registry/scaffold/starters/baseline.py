"""Naive Bayes on the counts of words."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from zoo import part


@part("baseline", "my-baseline", adds=("texts", "deterministic"))
class MyBaseline:
    """Naive Bayes on the counts of words.

    Multinomial naive Bayes on the counts of words, by scikit-learn.

    Manning, Raghavan and Schütze 2008, Introduction to Information Retrieval, section 13.2.
    smoothing: what is added to every count.
    """

    def __init__(self, *, smoothing: float = 1.0) -> None:
        if smoothing <= 0:
            raise ValueError(f"smoothing must be above 0, not {smoothing}")
        self.pipeline = make_pipeline(CountVectorizer(), MultinomialNB(alpha=smoothing))

    @property
    def parameters(self) -> int:
        """How many numbers the fitted classifier holds."""
        model = self.pipeline[-1]
        return int(model.feature_log_prob_.size + model.class_log_prior_.size)

    def fit(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        """Learn from the training split, and forget any earlier one."""
        self.pipeline.fit(texts, labels)

    def predict(self, texts: Sequence[str]) -> list[int]:
        """The label of each text."""
        return [int(label) for label in self.pipeline.predict(texts)]
