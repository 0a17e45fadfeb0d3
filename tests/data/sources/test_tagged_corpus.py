"""What the ids and tags of tagged texts are once they are encoded."""

from dataclasses import replace

import numpy as np
import torch
from reading import TAGGED

from zoo.data.batches import PaddedSplit
from zoo.data.encoding import encode_labelled
from zoo.data.sources.corpus import IGNORED
from zoo.data.token_arrays import EncodedData

WHOLE_WORDS = replace(TAGGED, word_level=True)


def test_the_tag_is_on_the_first_piece_and_the_ids_are_those_of_the_tokenizer():
    encoded = encode_labelled(TAGGED, 40, 20)
    assert EncodedData.open(encoded.directory) == encoded
    tokenizer = encoded.tokenizer()
    split = encoded.split("train")
    parts = zip(split.parts(), split.parts(split.columns["tags"]), strict=True)
    texts = zip(TAGGED.train.texts, TAGGED.train.targets, strict=True)
    for (ids, tags), (tokens, tags_of_tokens) in zip(parts, texts, strict=True):
        expected = tokenizer.encode(tokens, is_pretokenized=True, add_special_tokens=False)
        assert ids.tolist() == expected.ids
        words = expected.word_ids
        first = [i == 0 or words[i] != words[i - 1] for i in range(len(words))]
        assert tags.tolist() == [
            tags_of_tokens[word] if begins else IGNORED
            for word, begins in zip(words, first, strict=True)
        ]
    assert split.lengths[2] > 3  # the rare word is in pieces
    assert encoded.corpus() == TAGGED


def test_a_token_that_the_normaliser_removes_keeps_its_tag():
    test = TAGGED.test._replace(texts=[["\u0000", "runs"], ["Rome", "sees", "Ben"]])
    removed = replace(TAGGED, splits={**TAGGED.splits, "test": test})
    encoded = encode_labelled(removed, 60, 20)
    split = encoded.split("test")
    assert split.ids[0] == encoded.tokenizer().token_to_id("[UNK]")
    assert split.columns["tags"][:2].tolist() == [1, 0]


def cut_tags(data: EncodedData, split: str) -> int:
    return int(data.split(split).columns["cut"].sum())


def test_what_is_beyond_the_greatest_length_is_cut_with_its_tags():
    whole = encode_labelled(WHOLE_WORDS, 4, 20)
    assert [cut_tags(whole, split) for split in ("train", "test")] == [0, 0]
    assert whole.split("train").lengths.tolist() == [3, 2, 3]
    assert whole.vocab_size == 4 + 6  # every token has one id, however small the vocabulary
    cut = encode_labelled(WHOLE_WORDS, 4, 2)
    assert cut.split("train").columns["tokens"].tolist() == [2, 2, 2]
    assert [cut_tags(cut, split) for split in ("train", "test")] == [2, 1]
    split = cut.split("test")
    assert split.lengths.tolist() == [2, 2]
    assert split.columns["tags"].tolist() == [1, 0, 2, 0]


def test_batches_hold_each_text_with_its_tags():
    encoded = encode_labelled(WHOLE_WORDS, 4, 20)
    split = PaddedSplit(encoded.split("train"), torch.device("cpu"), "tags")
    batch = split.batch(np.array([1, 2]))
    assert batch.targets.tolist() == [[1, 0, IGNORED], [0, IGNORED, 2]]
    assert batch.items == 4
    assert split.scored.tolist() == [3, 2, 2]
    assert batch.real_tokens == 5
    part = split.subset(np.array([2])).batch(np.array([0]))
    assert part.targets.tolist() == [[0, IGNORED, 2]]
    assert part.items == 2
