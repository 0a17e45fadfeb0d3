"""An encoded corpus: ids and texts are those of the corpus."""

import dataclasses
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refused import refused
from tokenizers import Tokenizer, normalizers

import zoo.data.encoding
from zoo.data.cache import cached_entry
from zoo.data.encoding import encode_labelled
from zoo.data.sources.corpus import Corpus, Examples, is_blank
from zoo.data.token_arrays import EncodedData, TokenArrays, joined

WORDS = st.lists(st.sampled_from("the cat sat on a mat and so did dogs 東 ! é".split()), min_size=1)


def ids_of(documents: TokenArrays, index: int) -> list[int]:
    ids: list[int] = documents.ids[documents.offsets[index] : documents.offsets[index + 1]].tolist()
    return ids


def with_test(corpus: Corpus, **changes: list[str]) -> Corpus:
    splits = {**corpus.splits, "test": corpus.test._replace(**changes)}
    return dataclasses.replace(corpus, splits=splits)


def test_ids_offsets_and_labels_of_both_splits(tiny):
    encoded = encode_labelled(tiny, 60, 6)
    tokenizer = Tokenizer.from_file(str(encoded.tokenizer_path))
    for split, (texts, labels, _) in tiny.splits.items():
        documents = encoded.split(split)
        assert len(documents) == len(texts)
        assert documents.columns["labels"].tolist() == labels
        assert documents.lengths.max() <= 6
        for i, text in enumerate(texts):
            assert ids_of(documents, i) == tokenizer.encode(text).ids[:6]
    assert encoded.vocab_size == tokenizer.get_vocab_size()
    assert (encoded.max_length, encoded.label_names) == (6, ["cat", "dog"])
    assert encoded.fingerprint == tiny.fingerprint
    assert encoded.corpus() == tiny
    pieces = [tokenizer.id_to_token(number) for number in range(encoded.vocab_size)]
    assert list(encoded.vocabulary()) == pieces
    assert (documents.ids.dtype, documents.offsets.dtype) == (np.int32, np.int64)
    assert isinstance(documents.ids, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        documents.ids[0] = 1


def test_the_tokenizer_learns_from_train_alone(tiny):
    other = with_test(tiny, texts=["zebra zebra", "zoo zoo"])
    mine, two = encode_labelled(tiny, 60, 8), encode_labelled(other, 60, 8)
    assert mine.tokenizer_path.read_text() == two.tokenizer_path.read_text()
    assert mine.directory != two.directory


def test_each_size_and_each_corpus_has_its_own_entry(tiny):
    renamed = dataclasses.replace(tiny, name="other")
    entries = [
        encode_labelled(tiny, 60, 6),
        encode_labelled(tiny, 61, 6),
        encode_labelled(tiny, 60, 7),
        encode_labelled(renamed, 60, 6),
    ]
    assert len({e.directory for e in entries}) == 4
    assert entries[3].corpus().name == "other"


def test_the_second_time_nothing_is_built(tiny, monkeypatch):
    first = encode_labelled(tiny, 60, 6)

    def never(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(zoo.data.encoding, "train_word_pieces", never)
    assert encode_labelled(tiny, 60, 6) == first


def test_a_job_in_any_process_finds_its_data_by_key(tiny):
    encoded = encode_labelled(tiny, 60, 6)
    assert EncodedData.open(cached_entry(encoded.key)) == encoded
    assert EncodedData.open(str(encoded.directory)) == encoded
    refused("holds no encoded data", EncodedData.open, encoded.directory.parent)
    with pytest.raises(ValueError, match="no split 'dev'"):
        encoded.split("dev")
    refused(r"entry 'documents-other' of the cache .* is missing", cached_entry, "documents-other")


ARRAYS = TokenArrays.of([[1, 2], [3], [4, 5, 6]], labels=[0, 1, 0], tags=[7, 8, 9, 10, 11, 12])


def test_arrays_are_saved_taken_and_joined_with_their_columns(tmp_path):
    ARRAYS.save(tmp_path, "train")
    ARRAYS.save(tmp_path, "train_target")
    arrays = TokenArrays.load(tmp_path, "train")
    assert arrays.columns.keys() == {"labels", "tags"}
    both = joined([arrays.take(np.array([2, 0])), arrays.take(np.array([1]))])
    assert [part.tolist() for part in both.parts()] == [[4, 5, 6], [1, 2], [3]]
    assert both.columns["labels"].tolist() == [0, 0, 1]
    tags = both.parts(both.columns["tags"])
    assert [part.tolist() for part in tags] == [[10, 11, 12], [7, 8], [9]]
    assert both.lengths.tolist() == [3, 2, 1]
    plain = TokenArrays.of([[1]], labels=[1])
    assert joined([ARRAYS, plain]).columns.keys() == {"labels"}  # what both have


def test_groups_are_a_column_of_test(tiny):
    grouped = with_test(tiny, groups=["one", "other"])
    encoded = encode_labelled(grouped, 60, 6)
    assert encoded.split("test").columns["groups"].tolist() == ["one", "other"]
    assert "groups" not in encoded.split("train").columns


def _encode_in_a_process(corpus: Corpus) -> Path:
    return encode_labelled(corpus, 60, 6).directory


def test_processes_at_the_same_time_make_one_entry(tiny, tmp_path):
    with multiprocessing.get_context("fork").Pool(3) as pool:
        directories = pool.map(_encode_in_a_process, [tiny] * 6)
    assert len(set(directories)) == 1
    left = sorted(path.name for path in directories[0].parent.iterdir() if path.is_dir())
    assert left == [directories[0].name]


@pytest.mark.parametrize(("vocab_size", "max_length"), [(5, 6), (60, 1)])
def test_sizes_too_small_are_refused(tiny, vocab_size, max_length):
    refused(r"too small|no room", encode_labelled, tiny, vocab_size, max_length)


def test_a_text_is_blank_where_the_tokenizer_leaves_nothing_of_it():
    normalizer = normalizers.BertNormalizer(lowercase=True)
    characters = [*map(chr, range(0x700)), "\u200b", "\ufe0f", "\ufffd", "東", "🦉"]
    left = {c for c in characters if normalizer.normalize_str(c).split()}
    assert {c for c in characters if not is_blank(c)} == left


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(WORDS, min_size=2, max_size=6), st.integers(2, 9))
def test_every_text_is_cut_where_its_tokens_that_are_read_end(tiny, documents, max_length):
    texts = [f" {' '.join(words)}  " for words in documents]
    train = Examples(texts, [i % 2 for i in range(len(texts))])
    corpus = dataclasses.replace(tiny, splits={**tiny.splits, "train": train})
    encoded = encode_labelled(corpus, 80, max_length)
    tokenizer = Tokenizer.from_file(str(encoded.tokenizer_path))
    split = encoded.split("train")
    ends = split.columns["ends"]
    whole = [len(tokenizer.encode(text)) for text in texts]
    assert (split.offsets[0], split.offsets[-1]) == (0, len(split.ids))
    assert split.columns["whole"].tolist() == whole
    for i, text in enumerate(texts):
        assert ids_of(split, i) == tokenizer.encode(text).ids[:max_length]
        assert tokenizer.encode(text[: ends[i]]).ids == ids_of(split, i)
        assert whole[i] > max_length or ends[i] == len(text)
