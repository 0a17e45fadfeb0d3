"""The labels of data/my-data follow from its texts."""

from __future__ import annotations

from zoo.registry.scaffold.starters.data import load


def test_the_label_is_the_name_that_comes_first() -> None:
    """Also in the test split."""
    corpus = load(train=40, test=20)
    for texts, labels, _ in corpus.splits.values():
        for text, label in zip(texts, labels, strict=True):
            sun_is_first = text.split().index("sun") < text.split().index("moon")
            assert corpus.label_names[label] == ("sun" if sun_is_first else "moon"), text


def test_half_of_each_split_has_either_label() -> None:
    """Guessing is right half of the time."""
    corpus = load(train=40, test=20)
    assert (sum(corpus.train.targets), sum(corpus.test.targets)) == (20, 10)
