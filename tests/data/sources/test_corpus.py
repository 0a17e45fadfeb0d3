"""A corpus is checked when it is made, and its fingerprint is that of its content."""

from __future__ import annotations

from typing import Any

import pytest

from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError


def corpus(**changes: Any) -> Corpus:
    fields: dict[str, Any] = {
        "name": "mine",
        "train_texts": ["one", "two", "three"],
        "train_labels": [0, 1, 0],
        "test_texts": ["four", "five"],
        "test_labels": [1, 0],
        "label_names": ["a", "b"],
    }
    return Corpus(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"train_labels": [0, 0, 0]}, "every train text is 'a'"),
        ({"train_texts": ["one", " \n", "three"]}, "train text 2 is empty"),
        ({"test_texts": ["four", None]}, "test text 2 is not text but a NoneType"),
        ({"test_texts": [], "test_labels": []}, "test has no texts"),
        ({"train_labels": [0, 1]}, "3 texts but labels of 2"),
        ({"test_labels": [1, 2]}, "text 2 has the label 2; labels are int from 0 to 1"),
        ({"test_labels": [1, -1]}, "has the label -1"),
        ({"test_labels": [1, True]}, "has the label True"),
        (
            {"label_names": ["a", "b", "c"], "test_labels": [1, 2]},
            "test has a class that train lacks: 'c'",
        ),
        ({"label_names": ["a", "a"]}, "two classes have one name"),
        ({"test_texts": ["four", "fi\ud800ve"]}, "test text 2 holds half a character"),
    ],
)
def test_an_invalid_corpus_is_refused_in_one_line(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ZooError, match=complaint) as caught:
        corpus(**changes)
    assert str(caught.value).startswith("mine: ")
    assert "\n" not in str(caught.value)


def test_the_fingerprint_is_the_same_on_every_machine_and_with_every_name() -> None:
    for same in (corpus(), corpus(name="yours", notes={"a": "b"})):
        assert same.fingerprint == (
            "9401741d03b7e86134786b77b5bc920ecb5233ce53e5c6f377f9fa5de3c91491"
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"train_texts": ["one", "two", "three."]},
        {"train_texts": ["on", "etwo", "three"]},
        {"test_labels": [0, 1]},
        {"label_names": ["a", "c"]},
        {"train_texts": ["one", "two", "three", "four"], "train_labels": [0, 1, 0, 1],
         "test_texts": ["five"], "test_labels": [0]},
    ],
)  # fmt: skip
def test_any_change_of_content_changes_the_fingerprint(changes: dict[str, Any]) -> None:
    assert corpus(**changes).fingerprint != corpus().fingerprint


def test_duplicates_are_counted_in_test_and_dropped_from_train() -> None:
    # "Two" is twice in test and, in other case and spacing, once in train.
    mine = corpus(
        train_texts=["one thing", "two  things", "three", "two"],
        train_labels=[0, 1, 0, 1],
        test_texts=["Two things", "five", "two things\n"],
        test_labels=[1, 0, 1],
    )
    assert mine.duplicates == 2
    clean = mine.without_duplicates()
    assert clean.train_texts == ["one thing", "three", "two"]
    assert clean.train_labels == [0, 0, 1]
    assert clean.test_texts == mine.test_texts
    assert clean.duplicates == 0
    assert clean.notes["duplicates"] == "1 dropped from train"
    assert clean.without_duplicates() is clean


def test_a_train_split_that_is_all_duplicates_is_refused() -> None:
    with pytest.raises(ZooError, match="every train document is also in test"):
        corpus(test_texts=["one", "two", "three"], test_labels=[0, 1, 0]).without_duplicates()
    with pytest.raises(ZooError, match="every train text is 'a'"):
        corpus(test_texts=["two", "five"]).without_duplicates()
