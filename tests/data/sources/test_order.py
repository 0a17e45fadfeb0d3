"""The order data set: a bag of words is at chance by construction, every encoding is not."""

from collections import Counter
from itertools import permutations

import pytest

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.diagnostics.symbols import order
from zoo.data.sources.load_data import load_corpus

THREE = {"how", "are", "you"}


def bag(text: str) -> tuple[str, ...]:
    return tuple(sorted(text.split()))


def places(text: str) -> tuple[int, ...]:
    """The positions of the three words."""
    return tuple(i for i, word in enumerate(text.split()) if word in THREE)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return order(train=6000, test=1200)


def test_it_is_the_same_corpus_on_every_machine(corpus):
    assert corpus.fingerprint == (
        "0dcada8a4cac1c6bf483486e60610db682240c22b8172e3630d7a4bbc968fdea"
    )


def test_a_class_is_the_order_of_the_three_words(corpus):
    assert sorted(corpus.label_names) == sorted(" ".join(p) for p in permutations(THREE))
    for texts, labels, _ in corpus.splits.values():
        for text, label in zip(texts, labels, strict=True):
            words = [word for word in text.split() if word in THREE]
            assert " ".join(words) == corpus.label_names[label]


def test_every_bag_of_words_is_in_all_six_orders_in_one_split(corpus):
    """Whatever reads bags gives all six one answer, which is right once."""
    seen: list[set[tuple[str, ...]]] = []
    for texts, labels, _ in corpus.splits.values():
        classes: dict[tuple[str, ...], list[int]] = {}
        frames: dict[tuple[str, ...], set[tuple[int, ...]]] = {}
        for text, label in zip(texts, labels, strict=True):
            classes.setdefault(bag(text), []).append(label)
            frames.setdefault(bag(text), set()).add(places(text))
        assert all(sorted(labels) == list(range(6)) for labels in classes.values())
        # The positions of the three words do not depend on their order.
        assert all(len(labels) == 1 for labels in frames.values())
        seen.append(set(classes))
    assert not seen[0] & seen[1] | seen[0] & seen[2] | seen[1] & seen[2]
    assert [*map(len, seen)] == [1000, 200, 83]
    assert corpus.duplicates == 0


def test_the_three_words_are_at_several_distances_anywhere_in_the_text(corpus):
    distances: Counter[int] = Counter()
    first: Counter[int] = Counter()
    for text in corpus.test.texts:
        how, are, you = places(text)
        distances.update([are - how, you - are])
        first[how] += 1
    assert set(distances) == {1, 2, 4, 8}
    assert min(distances.values()) > 0.2 * sum(distances.values())
    assert set(first) == set(range(2, 6))
    assert max(len(text.split()) for text in corpus.train.texts) <= 25


@pytest.mark.parametrize("max_distance", [1, 3, 64])
def test_max_distance_is_the_greatest_distance(registry, max_distance):
    corpus, notices = load_corpus(
        registry, f"order(train=600, test=60, max_distance={max_distance})"
    )
    assert notices == []
    assert (len(corpus.train.texts), len(corpus.test.texts)) == (600, 60)
    distances = set()
    for text in corpus.train.texts:
        how, are, you = places(text)
        distances |= {are - how, you - are}
    assert distances == {
        distance for distance in (1, 2, 4, 8, 16, 32, 64) if distance <= max_distance
    }
