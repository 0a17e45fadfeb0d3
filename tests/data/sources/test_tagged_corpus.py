"""Tagged texts: what is checked when they are made, and what their ids and tags are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from zoo.data.batches import PaddedSplit
from zoo.data.encoding import encode_labelled
from zoo.data.sources.corpus import IGNORED, TaggedCorpus
from zoo.data.token_arrays import EncodedData
from zoo.errors import ZooError


@pytest.fixture
def tagged() -> TaggedCorpus:
    return TaggedCorpus(
        name="tiny",
        train_tokens=[["Anna", "sees", "Rome"], ["Ben", "runs"], ["sees", "unbelievable", "Rome"]],
        train_tags=[[1, 0, 2], [1, 0], [0, IGNORED, 2]],
        test_tokens=[["Anna", "runs"], ["Rome", "sees", "Ben"]],
        test_tags=[[1, 0], [2, 0, 1]],
        label_names=["O", "PER", "LOC"],
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_tags": [[1, 0], [1, 0], [0, 0, 2]]}, "train text 1 has 3 tokens but 2 tags"),
        ({"test_tags": [[1, 0]]}, "test has 2 texts but labels of 1"),
        ({"test_tokens": [], "test_tags": []}, "tiny: test has no texts"),
        ({"test_tokens": [[], ["x"]], "test_tags": [[], [0]]}, "test text 1 has no tokens"),
        ({"test_tokens": [["a", " "], ["x"]], "test_tags": [[0, 0], [0]]}, "token 2 is empty"),
        ({"test_tokens": [["a", 3], ["x"]], "test_tags": [[0, 0], [0]]}, "not text but a int"),
        ({"test_tokens": [["\ud800"], ["x"]], "test_tags": [[0], [0]]}, "a lone surrogate"),
        (
            {"test_tags": [[1, 3], [2, 0, 1]]},
            "test text 1 has the label 3; labels are",
        ),
        ({"test_tags": [[1, -1], [2, 0, 1]]}, "has the label -1"),
        ({"train_tags": [[1, 1, 1], [1, 1], [1, 1, 1]]}, "every tag of train is 'PER'"),
        (
            {"train_tags": [[1, 0, 0], [1, 0], [0, 0, 0]]},
            "test has a tag that train lacks: 'LOC'",
        ),
        ({"test_tags": [[-100, -100], [-100] * 3]}, "test: every tag is -100"),
        ({"label_names": ["O", "PER", "PER"]}, "two tags have one name"),
        ({"test_groups": ["a"]}, "test has 2 texts but 1 groups"),
        ({"test_groups": ["a", " "]}, "test document 2 has the group ' ', which is none"),
        ({"chance": 2.0}, "chance is a share from 0 to 1, not 2.0"),
    ],
)
def test_what_does_not_fit_is_refused(tagged: TaggedCorpus, changes: dict, message: str) -> None:
    with pytest.raises(ZooError, match=message):
        replace(tagged, **changes)


def test_the_fingerprint_is_of_tokens_tags_names_and_groups(tagged: TaggedCorpus) -> None:
    same = replace(tagged, name="other", notes={"a": "b"}, chance=0.3)
    assert same.fingerprint == tagged.fingerprint
    for changes in (
        {"test_groups": ["a", "b"]},
        {"label_names": ["O", "PER", "PLACE"]},
        {"test_tags": [[0, 0], [2, 0, 1]]},
        {"train_tokens": [["Anna", "sees", "Rome"], ["Ben runs", "x"], ["sees", "un", "Rome"]]},
    ):
        assert replace(tagged, **changes).fingerprint != tagged.fingerprint


def test_train_texts_that_are_also_in_test_can_be_dropped(tagged: TaggedCorpus) -> None:
    assert tagged.duplicates == 0
    twice = replace(tagged, test_tokens=[["BEN", "runs"], ["Rome", "sees", "Ben"]])
    assert twice.duplicates == 1
    kept = twice.without_duplicates()
    assert kept.train_tokens == [twice.train_tokens[0], twice.train_tokens[2]]
    assert kept.train_tags == [twice.train_tags[0], twice.train_tags[2]]
    assert kept.test_tokens == twice.test_tokens


def test_the_tag_is_on_the_first_piece_and_the_ids_are_those_of_the_tokenizer(
    tagged: TaggedCorpus,
) -> None:
    encoded = encode_labelled(tagged, 40, 20)
    assert EncodedData.open(encoded.directory) == encoded
    tokenizer = encoded.tokenizer()
    split = encoded.split("train")
    parts = zip(split.parts(), split.parts(split.columns["tags"]), strict=True)
    given = zip(tagged.train_tokens, tagged.train_tags, strict=True)
    for (ids, tags), (tokens, its_tags) in zip(parts, given, strict=True):
        expected = tokenizer.encode(tokens, is_pretokenized=True, add_special_tokens=False)
        assert ids.tolist() == expected.ids
        words = expected.word_ids
        first = [i == 0 or words[i] != words[i - 1] for i in range(len(words))]
        assert tags.tolist() == [
            its_tags[word] if begins else IGNORED for word, begins in zip(words, first, strict=True)
        ]
    assert split.lengths[2] > 3  # the rare word is in pieces
    assert encoded.corpus() == tagged


def test_a_token_that_the_normaliser_removes_keeps_its_tag(tagged: TaggedCorpus) -> None:
    removed = replace(tagged, test_tokens=[["\u0000", "runs"], ["Rome", "sees", "Ben"]])
    encoded = encode_labelled(removed, 60, 20)
    split = encoded.split("test")
    assert split.ids[0] == encoded.tokenizer().token_to_id("[UNK]")
    assert split.columns["tags"][:2].tolist() == [1, 0]


def cut_tags(data: EncodedData, split: str) -> int:
    return int(data.split(split).columns["cut"].sum())


def test_what_is_beyond_the_greatest_length_is_cut_with_its_tags(tagged: TaggedCorpus) -> None:
    whole = encode_labelled(replace(tagged, word_level=True), 4, 20)
    assert [cut_tags(whole, split) for split in ("train", "test")] == [0, 0]
    assert whole.split("train").lengths.tolist() == [3, 2, 3]
    assert whole.vocab_size == 4 + 6  # every token has one id, however small the vocabulary
    cut = encode_labelled(replace(tagged, word_level=True), 4, 2)
    assert cut.split("train").columns["tokens"].tolist() == [2, 2, 2]
    assert [cut_tags(cut, split) for split in ("train", "test")] == [2, 1]
    split = cut.split("test")
    assert split.lengths.tolist() == [2, 2]
    assert split.columns["tags"].tolist() == [1, 0, 2, 0]


def test_batches_hold_each_text_with_its_tags(tagged: TaggedCorpus) -> None:
    encoded = encode_labelled(replace(tagged, word_level=True), 4, 20)
    split = PaddedSplit(encoded.split("train"), torch.device("cpu"), "tags")
    batch = split.batch(np.array([1, 2]))
    assert batch.targets.tolist() == [[1, 0, IGNORED], [0, IGNORED, 2]]
    assert batch.items == 4
    assert split.scored.tolist() == [3, 2, 2]
    assert batch.real_tokens == 5
    part = split.subset(np.array([2])).batch(np.array([0]))
    assert part.targets.tolist() == [[0, IGNORED, 2]]
    assert part.items == 2
