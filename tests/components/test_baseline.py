"""What a bag of words can and cannot learn."""

from __future__ import annotations

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
        for text in ("tfidf-logreg(ngrams=1)", "tfidf-logreg(ngrams=2, choose=False)")
    )
    single.fit(texts, labels)
    double.fit(texts, labels)
    assert len(set(single.predict(texts[:2]))) == 1
    assert double.predict(texts[:2]) == [0, 1]


def fitted(registry: Registry, name: str, texts: list[str], labels: list[int]) -> Any:
    baseline = registry.choose("baseline", name).build()
    baseline.fit(texts, labels)
    return baseline


def test_pairs_of_words_are_features_where_held_out_texts_say_so(registry):
    draw = random.Random(0)
    names = [f"name{i}" for i in range(30)]
    texts = [
        f"{' '.join(draw.sample(names, 3))} {pair} {draw.choice(names)}"
        for _ in range(30)
        for pair in ("not good but bad", "not bad but good")
    ]
    chosen = fitted(registry, "tfidf-logreg", texts, [0, 1] * 30)
    assert chosen.predict(["not bad but good", "not good but bad"]) == [1, 0]
    assert chosen.note.startswith(
        "n-grams of up to 2 words, chosen on held-out training texts (accuracy 1.000, single words"
    )
    alone = fitted(registry, "tfidf-logreg(ngrams=1)", texts, [0, 1] * 30)
    assert (alone.note, alone.parameters < chosen.parameters) == ("", True)


def test_what_it_chose_holds_for_a_new_one_on_texts_that_would_have_it_choose_otherwise(registry):
    pairs = ["not good but bad", "not bad but good"] * 30
    model = fitted(registry, "tfidf-logreg(c=3.0)", pairs, [0, 1] * 30)
    new = model.chosen()
    new.fit([*TEXTS, *TEXTS], [*LABELS, *LABELS])
    reference = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(C=3.0)
    ).fit([*TEXTS, *TEXTS], [*LABELS, *LABELS])
    assert new.predict(TEXTS) == reference.predict(TEXTS).tolist()
    # Pairs of words are features: there are more of them than words.
    words = {word for text in TEXTS for word in text.split() if len(word) > 1}
    assert new.parameters == len(reference[0].vocabulary_) + 1 > len(words) + 1
    assert new.note == model.note


def test_single_words_are_enough_where_pairs_are_not_better(registry):
    texts, labels = ["a goal today", "the shares fell", "goal again", "his shares"] * 9, [0, 1] * 18
    baseline = fitted(registry, "tfidf-logreg", texts, labels)
    words = {word for text in texts for word in text.split() if len(word) > 1}
    assert (baseline.note, baseline.parameters) == ("", len(words) + 1)


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


def test_where_words_hardly_come_again_its_features_are_characters(registry):
    (texts, labels), (unseen, true) = chinese(160, 0), chinese(100, 1)
    baseline = fitted(registry, "tfidf-logreg", texts, labels)
    assert np.mean(np.array(baseline.predict(unseen)) == true) > 0.9
    assert "only 0% of the letters are in words that two texts have in common" in baseline.note
    longest = 3 if "up to 3 characters" in baseline.note else 2
    model = make_pipeline(
        TfidfVectorizer(analyzer="char", ngram_range=(1, longest), sublinear_tf=True),
        LogisticRegression(C=10, max_iter=1000),
    )
    assert model.fit(texts, labels).predict(unseen).tolist() == baseline.predict(unseen)
    words = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10))
    assert words.fit(texts, labels).score(unseen, true) < 0.6  # what it was before


def test_letters_with_spaces_between_them_have_features_too(registry):
    (texts, labels), (unseen, true) = chinese(160, 0, " "), chinese(100, 1, " ")
    baseline = fitted(registry, "tfidf-logreg", texts, labels)
    assert np.mean(np.array(baseline.predict(unseen)) == true) > 0.9


def test_classes_of_one_text_do_not_stop_the_choice(registry):
    texts = ["a goal in the match", "shares fell again", "the only song"]
    baseline = fitted(registry, "tfidf-logreg", [*texts[:2] * 12, texts[2]], [0, 1] * 12 + [2])
    assert baseline.predict(texts) == [0, 1, 2]
    assert fitted(registry, "tfidf-logreg", texts, [0, 1, 2]).predict(texts) == [0, 1, 2]


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
