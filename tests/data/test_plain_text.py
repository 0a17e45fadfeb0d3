"""Plain text: the validation part, and a tokenizer and blocks that are lossless."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from tokenizers import Tokenizer

from zoo.data.batches import Blocks
from zoo.data.encoding import END_OF_TEXT, STREAM_SPECIALS, encode_stream
from zoo.data.sources.corpus import Examples, Texts
from zoo.data.sources.load_data import load_texts, read_plain_text
from zoo.data.tokenizer import piece_bytes, train_byte_level

quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_byte_level(["the owl saw the fox. " * 9, "naïve — 多"], 300, STREAM_SPECIALS)


@quick
@given(st.text(st.characters(exclude_categories=["Cs"])) | st.just(STREAM_SPECIALS[0]))
def test_every_text_comes_back_and_its_tokens_hold_its_bytes(tokenizer, text):
    ids = tokenizer.encode(text).ids
    assert tokenizer.decode(ids) == text
    assert piece_bytes(tokenizer)[ids].sum() == len(text.encode())
    assert END_OF_TEXT not in ids


def test_a_vocabulary_without_room_for_the_bytes_is_refused():
    refused(r"vocabulary of 256 is too small.* 257", train_byte_level, ["a"], 256, STREAM_SPECIALS)


def book(train: list[str], validation: list[str]) -> Texts:
    return Texts("book", {"train": Examples(train), "validation": Examples(validation)})


def parts_of(texts: Texts) -> list[str]:
    """The one text of each split."""
    return [text for split in texts.splits.values() for text in split.texts]


def test_the_last_tenth_of_a_file_from_the_next_line_on_is_for_validation(tmp_path):
    text = "".join(f"line {i:02}\n" for i in range(50))
    path = tmp_path / "book.txt"
    path.write_text(text)
    train, validation = parts_of(read_plain_text(path))
    assert train + validation == text
    assert validation.startswith("line 46\n")  # 450 characters: the cut falls into line 45
    path.write_text("x" * 100)
    assert [len(part) for part in parts_of(read_plain_text(path))] == [90, 10]


def test_every_tenth_training_text_of_a_data_set_is_for_validation(registry):
    from zoo.data.sources.newswire import load

    corpus = load(train=25, test=5)
    texts, _ = load_texts(registry, "newswire(train=25, test=5)")
    assert texts.splits["validation"].texts == [corpus.train.texts[9], corpus.train.texts[19]]
    assert len(texts.train.texts) == 23
    assert not set(texts.train.texts) & set(corpus.test.texts)


@pytest.mark.parametrize(
    ("content", "complaint"), [(b"", "is empty"), (b"  \n", "is empty"), (b"a\xff", "not UTF-8")]
)
def test_a_file_that_is_not_text_is_refused(tmp_path, content, complaint):
    path = tmp_path / "book.txt"
    path.write_bytes(content)
    refused(complaint, read_plain_text, path, "utf-8")


def test_less_text_than_a_block_is_refused():
    little = book(["just this"], ["and that"])
    refused("too few for one block of 64", encode_stream, little, 300, 64)


def test_the_tokenizer_learns_from_the_training_part_alone():
    train = ["the owl saw the fox " * 20]
    mine, other = (
        encode_stream(book(train, [validation]), 300, 8)
        for validation in ("a dog " * 50, "zzz " * 50)
    )
    assert mine.tokenizer_path.read_bytes() == other.tokenizer_path.read_bytes()
    assert mine.directory != other.directory


@quick
@given(st.integers(2, 200), st.integers(1, 40), st.integers(1, 9))
def test_every_token_but_the_first_is_scored_once_after_the_one_before_it(
    tokens, length, batch_size
):
    stream = np.arange(tokens, dtype=np.int32)
    blocks = Blocks(stream, length, torch.device("cpu"), short=True)
    seen: list[int] = []
    for batch in blocks.ordered(batch_size):
        assert torch.equal(batch.ids + 1, batch.targets)
        assert batch.items == batch.targets.numel() == batch.real_tokens
        seen += batch.targets.flatten().tolist()
    assert sorted(seen) == list(range(1, tokens))


def test_training_takes_whole_blocks_in_an_order_of_seed_and_epoch():
    blocks = Blocks(np.arange(101, dtype=np.int32), 8, torch.device("cpu"), short=False)
    first, again, other = (
        [batch.rows.tolist() for batch in blocks.shuffled(4, seed, 0)] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert sorted(row for rows in first for row in rows) == list(range(12))
