"""The most frequent class."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.dummy import DummyClassifier

from zoo.registry.declarations import part


@part(
    "baseline",
    "majority",
    source="https://scikit-learn.org/stable/modules/generated/sklearn.dummy.DummyClassifier.html",
    adds=("texts", "deterministic", "constant"),
)
class Majority:
    """The most frequent class of the training texts, for every text.

    Of equally frequent ones it is the first.
    """

    parameters = 1  # the class

    def __init__(self) -> None:
        self.model = DummyClassifier(strategy="most_frequent")

    def fit(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        """Find the most frequent label."""
        self.model.fit(texts, labels)

    def predict(self, texts: Sequence[str]) -> list[int]:
        """That label, for each text."""
        return [int(label) for label in self.model.predict(texts)]
