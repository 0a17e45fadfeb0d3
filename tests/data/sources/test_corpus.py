"""A corpus is checked when it is made, and its fingerprint is that of its content."""

from dataclasses import replace
from typing import Any

import pytest
from reading import TAGGED
from refused import refused

from zoo.data.sources.corpus import Corpus, DataSet, Examples, TaggedCorpus

CORPUS = Corpus(
    "tiny",
    {
        "train": Examples(["one", "two", "three"], [0, 1, 0]),
        "test": Examples(["four", "five"], [1, 0]),
    },
    ["a", "b"],
)
FIELDS = {"texts": "texts", "tokens": "texts", "labels": "targets", "tags": "targets"}


def changed(data: DataSet, **changes: Any) -> DataSet:
    """The data with other fields, or with other ``train_texts``, ``test_labels`` and so on."""
    splits = dict(data.splits)
    for name in [name for name in changes if name.partition("_")[0] in splits]:
        split, _, field = name.partition("_")
        part = {FIELDS.get(field, field): changes.pop(name)}
        splits[split] = splits[split]._replace(**part)
    return replace(data, splits=splits, **changes)


@pytest.mark.parametrize(
    ("data", "changes", "complaint"),
    [(CORPUS, *case) for case in [
        ({"train_labels": [0, 0, 0]}, r"train has the classes \['a'\]; two are needed"),
        ({"train_texts": ["one", " \n", "three"]}, "train text 2 is empty"),
        ({"test_texts": ["four", None]}, "test text 2 is missing"),
        ({"test_texts": [], "test_labels": []}, "test has 0 texts"),
        ({"train_labels": [0, 1]}, "3 texts, labels of 2"),
        ({"test_labels": [1, 2]}, "text 2 has the label 2; labels are int from 0 to 1"),
        ({"test_labels": [1, True]}, "has the label True"),
        ({"label_names": ["a", "a"]}, "two classes have one name"),
        ({"test_texts": ["four", "fi\ud800ve"]}, "test text 2 holds half a character"),
    ]]
    + [(TAGGED, *case) for case in [
        ({"train_tags": [[1, 0], [1, 0], [0, 0, 2]]}, "train text 1 has 3 tokens but 2 tags"),
        ({"test_tokens": [[], ["x"]], "test_tags": [[], [0]]}, "test text 1 has no tokens"),
        ({"test_tokens": [["a", " "], ["x"]], "test_tags": [[0, 0], [0]]}, "token 2 is empty"),
        ({"test_tokens": [["a", 3], ["x"]], "test_tags": [[0, 0], [0]]}, "not text but a int"),
        ({"test_tags": [[1, 3], [2, 0, 1]]}, "test text 1 has the label 3; labels are"),
        ({"test_tags": [[1, -1], [2, 0, 1]]}, "has the label -1"),
        ({"train_tags": [[1, 1, 1], [1, 1], [1, 1, 1]]}, r"train has the tags \['PER'\]"),
        ({"test_tags": [[-100, -100], [-100] * 3]}, "test: every tag is -100"),
        ({"label_names": ["O", "PER", "PER"]}, "two tags have one name"),
        ({"test_groups": ["a"]}, "test has 2 texts, labels of 2 and 1 groups"),
        ({"test_groups": ["a", " "]}, "the group of tiny: test text 2 is empty"),
        ({"chance": 2.0}, "chance is a share from 0 to 1, not 2.0"),
    ]],
)  # fmt: skip
def test_an_invalid_corpus_is_refused_in_one_line(data, changes, complaint):
    assert "tiny: " in str(refused(complaint, changed, data, **changes))


def test_the_fingerprint_is_the_same_on_every_machine_and_with_every_name():
    for same in (CORPUS, changed(CORPUS, name="yours", notes={"a": "b"}, chance=0.3)):
        assert same.fingerprint == (
            "9401741d03b7e86134786b77b5bc920ecb5233ce53e5c6f377f9fa5de3c91491"
        )


@pytest.mark.parametrize(
    ("data", "changes"),
    [
        (CORPUS, {"train_texts": ["one", "two", "three."]}),
        (CORPUS, {"train_texts": ["on", "etwo", "three"]}),
        (CORPUS, {"test_labels": [0, 1]}),
        (CORPUS, {"label_names": ["a", "c"]}),
        (CORPUS, {"train_texts": ["one", "two", "three", "four"], "train_labels": [0, 1, 0, 1],
                  "test_texts": ["five"], "test_labels": [0]}),
        (TAGGED, {"test_groups": ["a", "b"]}),
        (TAGGED, {"test_tags": [[0, 0], [2, 0, 1]]}),
        (TAGGED, {"train_tokens": [["Anna", "sees", "Rome"], ["Ben runs", "x"], *[["a"] * 3]]}),
    ],
)  # fmt: skip
def test_any_change_of_content_changes_the_fingerprint(data, changes):
    assert changed(data, **changes).fingerprint != data.fingerprint


def test_duplicates_are_counted_in_test_and_dropped_from_train():
    # "Two" is twice in test and, in other case and spacing, once in train.
    mine = changed(
        CORPUS,
        train_texts=["one thing", "two  things", "three", "two"],
        train_labels=[0, 1, 0, 1],
        test_texts=["Two things", "five", "two things\n"],
        test_labels=[1, 0, 1],
    )
    assert mine.duplicates == 2
    clean = mine.without_duplicates()
    assert clean.train.texts == ["one thing", "three", "two"]
    assert clean.train.targets == [0, 0, 1]
    assert clean.test == mine.test
    assert clean.duplicates == 0
    assert clean.notes["duplicates"] == "1 dropped from train"
    assert clean.without_duplicates() is clean
    tagged = changed(TAGGED, test_tokens=[["BEN", "runs"], ["Rome", "sees", "Ben"]])
    assert (TAGGED.duplicates, tagged.duplicates) == (0, 1)
    kept = tagged.without_duplicates()
    for values, before in zip(kept.train[:2], TAGGED.train[:2], strict=True):
        assert values == [before[0], before[2]]


def test_labels_that_train_lacks_come_last():
    names = ["odd", "zero", "rare", "one"]
    splits = {"train": Examples(["a", "b"], [3, 1]), "test": Examples(["c", "d", "e"], [0, 2, 1])}
    mine = Corpus("mine", splits, names)
    moved = mine.trained_first()
    assert moved.label_names == ["zero", "one", "odd", "rare"]
    for split, examples in moved.splits.items():
        before = [names[label] for label in mine.splits[split].targets]
        assert [moved.label_names[label] for label in examples.targets] == before
    assert CORPUS.trained_first() is CORPUS
    train, test = Examples([["a", "b", "c"]], [[1, -100, 2]]), Examples([["a"]], [[0]])
    tagged = TaggedCorpus("tags", {"train": train, "test": test}, ["B", "O", "P"])
    assert tagged.trained_first().train.targets == [[0, -100, 1]]


def test_a_train_split_that_is_all_duplicates_is_refused():
    every = changed(CORPUS, test_texts=["one", "two", "three"], test_labels=[0, 1, 0])
    refused("every train document is also in test", every.without_duplicates)
    other = changed(CORPUS, test_texts=["two", "five"])
    refused("two are needed", other.without_duplicates)
