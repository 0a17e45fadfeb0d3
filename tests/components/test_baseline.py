"""What a bag of words can and cannot learn."""

import random
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from zoo.registry import Registry

TEXTS = ["a goal in the match", "the match ended", "shares fell again", "the bank sold shares"]
LABELS = [1, 1, 0, 0]


@pytest.mark.parametrize("classes", [2, 3])
def test_counts_a_weight_per_word_and_class_and_one_bias(registry, classes):
    baseline = registry.choose("baseline", "tfidf-logreg").build()
    texts, labels = [*TEXTS, "votes"], [*LABELS, classes - 1]
    baseline.fit(texts, labels)
    # A word has two letters or more; two classes need one score, not two.
    words = {word for text in texts for word in text.split() if len(word) > 1}
    assert baseline.parameters == (len(words) + 1) * (1 if classes == 2 else classes)
    assert baseline.predict(["another goal in a match", "bank shares"]) == [1, 0]


def test_longer_ngrams_see_the_order_of_words(registry):
    texts, labels = ["not good but bad", "not bad but good"] * 4, [0, 1] * 4
    single, double = (
        registry.choose("baseline", text).build()
        for text in ("tfidf-logreg(ngrams=1)", "tfidf-logreg(ngrams=2)")
    )
    single.fit(texts, labels)
    double.fit(texts, labels)
    assert len(set(single.predict(texts[:2]))) == 1
    assert double.predict(texts[:2]) == [0, 1]


def fitted(registry: Registry, name: str, texts: list[str], labels: list[int]) -> Any:
    baseline = registry.choose("baseline", name).build()
    baseline.fit(texts, labels)
    return baseline


SPORT, MARKET, COMMON = "球队赛胜负射门", "股市银行涨跌税", "的了在是我有和人这中大为上个国们"


def chinese(count: int, seed: int, between: str = "") -> tuple[list[str], list[int]]:
    """Texts of two clauses without spaces, in which some characters tell the class."""
    draw = random.Random(seed)
    texts = []
    for number in range(count):
        letters = (SPORT, MARKET)[number % 2]
        clauses = (
            between.join(
                draw.choice(letters if draw.random() < 0.2 else COMMON)
                for _ in range(draw.randint(6, 12))
            )
            for _ in range(2)
        )
        texts.append(f"{'，'.join(clauses)}。")
    return texts, [number % 2 for number in range(count)]


@pytest.mark.parametrize("between", ["", " "])
def test_characters_are_features_of_scripts_without_spaces(registry, between):
    (texts, labels), (unseen, true) = chinese(160, 0, between), chinese(100, 1, between)
    baseline = fitted(registry, "tfidf-logreg(ngrams=2, unit='char')", texts, labels)
    model = make_pipeline(
        TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True),
        LogisticRegression(C=10, max_iter=1000),
    )
    assert model.fit(texts, labels).predict(unseen).tolist() == baseline.predict(unseen)
    assert np.mean(np.array(baseline.predict(unseen)) == true) > 0.9


def test_texts_without_words_are_refused_with_what_to_write(registry):
    with pytest.raises(ValueError, match=r"write tfidf-logreg\(unit='char'\)"):
        fitted(registry, "tfidf-logreg", ["a b", "b a"], [0, 1])


@pytest.mark.parametrize("text", ["tfidf-logreg(c=0.0)", "tfidf-logreg(ngrams=0)"])
def test_impossible_parameters_are_refused(registry, text):
    with pytest.raises(ValueError, match="c must be above 0 and ngrams at least 1"):
        registry.choose("baseline", text).build()


TOKENS = [["the", "can", "fell"], ["we", "can", "run"], ["they", "can", "run"], ["the", "can"]]
TAGS = [[0, 1, 2], [3, 2, 2], [3, 2, 2], [0, 1]]


def test_every_token_gets_the_tag_that_it_has_most_often(registry):
    baseline = registry.choose("baseline", "frequent-tag").build()
    baseline.fit([*TOKENS, ["can", "the"]], [*TAGS, [-100, -100]])
    # "can" has each of 1 and 2 twice: the lower number; an unknown token gets 2, the commonest.
    assert baseline.predict([["can", "the", "run"], ["unheard"]]) == [[1, 0, 2], [2]]
    assert baseline.parameters == 6 + 1


def test_neighbours_decide_between_the_tags_of_a_token(registry):
    near, alone = (
        registry.choose("baseline", text).build()
        for text in ("window-logreg", "window-logreg(size=0)")
    )
    for baseline in (near, alone):
        baseline.fit(TOKENS * 4, TAGS * 4)
    assert near.predict([["the", "can", "run"], ["we", "can"]]) == [[0, 1, 2], [3, 2]]
    assert len({tags[1] for tags in alone.predict([["the", "can"], ["we", "can"]])}) == 1


@pytest.mark.parametrize("text", ["window-logreg(c=0.0)", "window-logreg(size=-1)"])
def test_an_impossible_window_is_refused(registry, text):
    with pytest.raises(ValueError, match="c must be above 0 and size at least 0"):
        registry.choose("baseline", text).build()
