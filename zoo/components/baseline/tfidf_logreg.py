"""Logistic regression on a bag of words, of n-grams of words, or of n-grams of characters."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from zoo.registry.declarations import part


@part(
    "baseline",
    "tfidf-logreg",
    source="https://scikit-learn.org/stable/modules/feature_extraction.html",
    adds=("texts", "deterministic"),
)
class TfidfLogisticRegression:
    """Logistic regression on TF-IDF of words.

    Multinomial, by scikit-learn. c: inverse strength of the L2 penalty. ngrams: the longest n-gram
    that is a feature. unit: of n-grams, ``word``, which has two letters or more, or ``char``, for
    scripts without spaces. Raises ValueError for other values, and for texts without any word.
    """

    def __init__(self, *, c: float = 10.0, ngrams: int = 1, unit: str = "word") -> None:
        if c <= 0 or ngrams < 1:
            raise ValueError(f"c must be above 0 and ngrams at least 1, not {c} and {ngrams}")
        if unit not in ("word", "char"):
            raise ValueError(f"unit must be 'word' or 'char', not {unit!r}")
        self.pipeline: Pipeline = make_pipeline(
            TfidfVectorizer(sublinear_tf=True, ngram_range=(1, ngrams), analyzer=unit),
            LogisticRegression(C=c, max_iter=1000),
        )

    @property
    def parameters(self) -> int:
        """How many numbers the fitted classifier holds."""
        model = self.pipeline[-1]
        return int(model.coef_.size + model.intercept_.size)

    def fit(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        """Learn from the training split."""
        try:
            self.pipeline.fit(texts, labels)
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            hint = "no text has a word of two letters: write tfidf-logreg(unit='char')"
            raise ValueError(hint) from error

    def predict(self, texts: Sequence[str]) -> list[int]:
        """The label of each text."""
        return [int(label) for label in self.pipeline.predict(texts)]
