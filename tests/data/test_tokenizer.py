"""Word pieces: the same vocabulary from the same texts, in every process and order."""

import hashlib
import os
import random
import subprocess
import sys

import pytest
from refused import refused

from zoo.data.sources import newswire
from zoo.data.tokenizer import CLS, PAD_ID, SPECIALS, UNK, train_word_pieces, word_level_tokenizer


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return newswire.load(train=150, test=1).train.texts


def test_specials_come_first_and_cls_leads_every_document(texts):
    tokenizer = train_word_pieces(texts, 500)
    assert [tokenizer.id_to_token(i) for i in range(4)] == list(SPECIALS)
    assert tokenizer.token_to_id("[PAD]") == PAD_ID
    assert tokenizer.encode("the minister").tokens[0] == CLS
    assert tokenizer.encode("").tokens == [CLS]
    assert word_level_tokenizer(["b a"]).encode("a b").tokens == [CLS, "a", "b"]


def test_the_vocabulary_is_exactly_as_large_as_asked(texts):
    tokenizer = train_word_pieces(texts, 1500)
    assert sorted(tokenizer.get_vocab().values()) == list(range(1500))


def test_a_small_corpus_has_as_many_pieces_as_it_has():
    tokenizer = train_word_pieces(["ab ab", "abc"], 1000)
    assert set(tokenizer.get_vocab()) == {*SPECIALS, *"abc", "##b", "##c", "ab", "abc"}


def test_what_train_does_not_know_is_unknown_and_case_does_not_matter():
    tokenizer = train_word_pieces(["abc abc bca cab"], 50)
    assert tokenizer.encode("ABC").tokens == tokenizer.encode("abc").tokens == [CLS, "abc"]
    assert tokenizer.encode("xyz").tokens == [CLS, UNK]


def test_rare_characters_do_not_fill_the_vocabulary():
    rare = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 3000))
    tokenizer = train_word_pieces(["common words here"] * 5 + [rare], 1100)
    assert tokenizer.get_vocab_size() <= 1100
    assert UNK not in tokenizer.encode("common words").tokens


def test_too_small_a_vocabulary_says_how_much_it_takes():
    refused(r"a vocabulary of 8 is too small.*alone take 9", train_word_pieces, ["abc"], 8)
    assert train_word_pieces(["abc"], 9).get_vocab_size() == 9


# Every pair of letters is as frequent as every other: only the order of the characters can decide.
LETTERS = "abcdefghijklmnop"
TIES = [x + y for x in LETTERS for y in LETTERS if x < y]
IN_A_PROCESS = f"""
import hashlib
from zoo.data.sources import newswire
from zoo.data.tokenizer import train_word_pieces
texts = newswire.load(train=150, test=1).train.texts
for texts, size in ((texts, 1500), ({TIES!r}, 60)):
    print(hashlib.sha256(train_word_pieces(texts, size).to_str().encode()).hexdigest())
"""


def test_every_process_and_every_order_gives_the_same_vocabulary(texts):
    here = []
    for some, size in ((texts, 1500), (TIES, 60)):
        shuffled = random.Random(1).sample(some, len(some))
        vocabulary = train_word_pieces(shuffled, size).to_str()
        here.append(hashlib.sha256(vocabulary.encode()).hexdigest())
    environment = {**os.environ, "PYTHONHASHSEED": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == here
