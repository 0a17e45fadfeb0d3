"""The built-in corpus: the same everywhere, shaped like news, neither trivial nor impossible."""

import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from zoo.data.sources import newswire
from zoo.data.sources.corpus import Corpus


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return newswire.load()


def test_it_is_the_same_corpus_on_every_machine(corpus):
    assert corpus.fingerprint == (
        "90dc9e98e8d82d8475d18d2ad18a88bb7037922dc0138e0999e0462b0caabb70"
    )


def test_it_has_the_size_and_lengths_of_bbc_news(corpus):
    assert (len(corpus.train.texts), len(corpus.test.texts)) == (1225, 1000)
    assert corpus.label_names == ["arts", "government", "markets", "sport", "technology"]
    assert min(Counter(corpus.train.targets).values()) > 150
    texts = [*corpus.train.texts, *corpus.test.texts]
    words = np.array([len(text.split()) for text in texts])
    assert 370 < words.mean() < 420
    assert 200 < words.std() < 280
    assert words.min() >= 90
    assert words.max() <= 4010
    assert corpus.duplicates == 0


def test_it_is_lower_case_english_with_a_long_tail(corpus):
    texts = [*corpus.train.texts, *corpus.test.texts]
    assert all(text == text.lower() and text.isascii() for text in texts)
    assert not any(re.search(r"\ba (?!euro)[aei]|[*_]|\ban [bcdfgjkmp]", text) for text in texts)
    vocabulary = {word for text in corpus.train.texts for word in text.split()}
    assert len(vocabulary) > 4000


def test_a_bag_of_words_scores_high_but_not_all(corpus):
    vectors = TfidfVectorizer(sublinear_tf=True, min_df=5)
    model = LogisticRegression(C=10, max_iter=200)
    model.fit(vectors.fit_transform(corpus.train.texts), corpus.train.targets)
    score = model.score(vectors.transform(corpus.test.texts), corpus.test.targets)
    assert 0.955 < score < 0.985


def test_the_smallest_corpus_has_every_topic_in_train():
    corpus = newswire.load(train=10, test=1)
    assert sorted(Counter(corpus.train.targets).values()) == [2] * 5
