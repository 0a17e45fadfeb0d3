"""Pairs: built-in tasks, TSV files, and batches."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refused import refused

from zoo.data.batches import PairSplit
from zoo.data.encoding import END, START, decode_target, encode_pairs
from zoo.data.sources.corpus import IGNORED, Examples, Pairs
from zoo.data.sources.load_data import load_data
from zoo.data.sources.row_reader import PairedTexts
from zoo.registry.loading import built_ins

SMALL = "train=300, test=40"


def pairs_of(spec: str | Path, **how: Any) -> Pairs:
    return load_data(built_ins(), str(spec), PairedTexts(**how))[0]


def pairs_to_test(spec: str) -> list[tuple[str, str]]:
    """The pairs of the test split."""
    test = pairs_of(spec).test
    return list(zip(test.texts, test.targets, strict=True))


@pytest.mark.parametrize("task", ["reverse", "copy", "sort", "dates"])
def test_no_source_is_in_both_splits_and_a_seed_gives_them_again(task):
    pairs, again = (pairs_of(f"{task}({SMALL})") for _ in range(2))
    assert [len(split.texts) for split in pairs.splits.values()] == [300, 40]
    assert not set(pairs.train.texts) & set(pairs.test.texts)
    assert pairs.fingerprint == again.fingerprint
    assert pairs.fingerprint != pairs_of(f"{task}({SMALL}, seed=1)").fingerprint


def test_the_answers_are_right():
    for source, target in pairs_to_test(f"reverse({SMALL})"):
        assert source.split() == list(reversed(target.split()))
    for source, target in pairs_to_test(f"sort({SMALL})"):
        assert target.split() == sorted(source.split())
    assert all(source == target for source, target in pairs_to_test(f"copy({SMALL})"))
    for source, target in pairs_to_test(f"dates({SMALL})"):
        assert datetime.datetime.strptime(source, "%d %B %Y").date().isoformat() == target


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("revers", "did you mean 'reverse'"),
        ("newswire(train=10, test=5)", "gives no Pairs but a Corpus"),
        ("nowhere.tsv", "no such file"),
        ("reverse(train=0)", "reverse needs train >= 1, not 0"),
        ("reverse(shortest=0)", "reverse needs shortest >= 1, not 0"),
        ("copy(shortest=1, longest=1)", "at most 1 pairs in all"),
        ("dates(train=80000)", "at most 73000 pairs in all"),
        ("sort(lenght=3)", "lenght"),
    ],
)
def test_impossible_requests_are_refused(spec, complaint):
    refused(complaint, pairs_of, spec)


def test_pairs_of_one_source_are_in_one_split(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"word {i}\tone {i}\nword {i}\tother {i}\n" for i in range(40)))
    pairs = pairs_of(path)
    assert [len(split.texts) for split in pairs.splits.values()] == [60, 20]
    assert not set(pairs.train.texts) & set(pairs.test.texts)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a\tb\nc\n", "line 2: '2' is empty"),
        (b"c\n", "line 1: 1 columns, where SOURCE<TAB>TARGET has two"),
        (b"a\tb\tc\n", "line 1: 3 columns, where"),
        (b"a\tb\na\tb\tc\n", "line 2: 3 fields, where its first line has 2"),
        (b" \tb\n", "line 1: '1' is empty"),
        (b"a\tb\na\tc\n", "1 of its texts are too few"),
        (b"", "is empty: it has no rows"),
        (b"a\t\xff\n", "not UTF-8"),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused(tmp_path, content, complaint):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    refused(complaint, pairs_of, path, encoding="utf-8")


def test_pairs_in_another_encoding_and_lines_that_are_left_out(tmp_path):
    path = tmp_path / "pairs.tsv"
    lines = [f"caf\u00e9 {i}\tcoffee {i}\n" for i in range(8)]
    path.write_bytes("".join([*lines, "no tab\n", "a\t\n"]).encode("latin-1"))
    how = PairedTexts(drop_bad_rows=True, encoding="latin-1")
    pairs, notices = load_data(built_ins(), str(path), how)
    assert "caf\u00e9 0" in [*pairs.train.texts, *pairs.test.texts]
    assert notices[0].endswith("line 9 and line 10: '2' is empty (2 of 10 rows); left out")
    says = "--encoding: for files and hub: data, and 'reverse' is"
    refused(says, pairs_of, "reverse", encoding="latin-1")


def test_a_pair_too_long_is_refused_with_the_length_it_needs():
    splits = {"train": Examples(["a", "c " * 30], ["b", "d"]), "test": Examples(["a"], ["b"])}
    pairs = Pairs("long", splits)
    says = r"longer than 10 tokens; the longest takes --max-length \d"
    refused(says, encode_pairs, pairs, 300, 10)


def test_a_batch_gives_the_target_and_asks_for_the_next_token():
    from tokenizers import Tokenizer

    pairs = pairs_of(f"reverse({SMALL}, shortest=1, longest=5)")
    encoded = encode_pairs(pairs, 300, 12)
    tokenizer = Tokenizer.from_file(str(encoded.tokenizer_path))
    split = PairSplit(encoded, ["test"], torch.device("cpu"))
    batch = split.batch(np.arange(len(split)))
    for row, (source, target) in enumerate(zip(*pairs.test[:2], strict=True)):
        real = batch.decoder_tokens.attention_mask[row]
        inputs, asked = batch.decoder_ids[row][real].tolist(), batch.targets[row][real].tolist()
        assert (inputs[0], asked[-1]) == (START, END)
        assert inputs[1:] == asked[:-1]
        assert decode_target(tokenizer, asked) == target == split.texts[row]
        assert (batch.targets[row][~real] == IGNORED).all()
        assert decode_target(tokenizer, batch.ids[row].tolist()) == source
    assert batch.items == int(batch.decoder_tokens.attention_mask.sum())
    some = split.subset(np.array([5, 2]))
    assert some.texts == [pairs.test.targets[5], pairs.test.targets[2]]
