"""What a bag of words can and cannot learn."""

from __future__ import annotations

import pytest

from zoo.registry import Registry

TEXTS = ["a goal in the match", "the match ended", "shares fell again", "the bank sold shares"]
LABELS = [1, 1, 0, 0]


def test_learns_which_words_distinguish_the_classes(registry: Registry) -> None:
    baseline = registry.choose("baseline", "tfidf-logreg").build()
    baseline.fit(TEXTS, LABELS)
    assert baseline.predict(["another goal in a match", "bank shares"]) == [1, 0]


@pytest.mark.parametrize("classes", [2, 3])
def test_counts_a_weight_per_word_and_class_and_one_bias(registry: Registry, classes: int) -> None:
    baseline = registry.choose("baseline", "tfidf-logreg").build()
    texts, labels = [*TEXTS, "votes"], [*LABELS, classes - 1]
    baseline.fit(texts, labels)
    # A word has two letters or more; two classes need one score, not two.
    words = {word for text in texts for word in text.split() if len(word) > 1}
    assert baseline.parameters == (len(words) + 1) * (1 if classes == 2 else classes)


def test_longer_ngrams_see_the_order_of_words(registry: Registry) -> None:
    texts, labels = ["not good but bad", "not bad but good"] * 4, [0, 1] * 4
    single, double = (
        registry.choose("baseline", text).build()
        for text in ("tfidf-logreg", "tfidf-logreg(ngrams=2)")
    )
    single.fit(texts, labels)
    double.fit(texts, labels)
    assert len(set(single.predict(texts[:2]))) == 1
    assert double.predict(texts[:2]) == [0, 1]


@pytest.mark.parametrize("text", ["tfidf-logreg(c=0.0)", "tfidf-logreg(ngrams=0)"])
def test_impossible_parameters_are_refused(registry: Registry, text: str) -> None:
    with pytest.raises(ValueError, match="c must be above 0 and ngrams at least 1"):
        registry.choose("baseline", text).build()
