"""Pairs: built-in tasks, TSV files, and batches."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest
import torch

from zoo.config.reading import TextReading
from zoo.data.batches import PairSplit
from zoo.data.encoding import END, PAD, START, decode_target, encode_pairs
from zoo.data.sources.corpus import Pairs
from zoo.data.sources.load_data import load_pairs
from zoo.errors import ZooError
from zoo.registry import Registry

SMALL = "train=300, test=40"


@pytest.mark.parametrize("task", ["reverse", "copy", "sort", "dates"])
def test_no_source_is_in_both_splits_and_a_seed_gives_them_again(
    registry: Registry, task: str
) -> None:
    pairs, again = (load_pairs(f"{task}({SMALL})", registry) for _ in range(2))
    assert (len(pairs.train), len(pairs.test)) == (300, 40)
    assert not {source for source, _ in pairs.train} & {source for source, _ in pairs.test}
    assert pairs.fingerprint == again.fingerprint
    assert pairs.fingerprint != load_pairs(f"{task}({SMALL}, seed=1)", registry).fingerprint


def test_the_answers_are_right(registry: Registry) -> None:
    for source, target in load_pairs(f"reverse({SMALL})", registry).test:
        assert source.split() == list(reversed(target.split()))
    for source, target in load_pairs(f"sort({SMALL})", registry).test:
        assert target.split() == sorted(source.split())
    assert all(source == target for source, target in load_pairs(f"copy({SMALL})", registry).test)
    for source, target in load_pairs(f"dates({SMALL})", registry).test:
        assert datetime.datetime.strptime(source, "%d %B %Y").date().isoformat() == target


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("revers", "did you mean 'reverse'"),
        ("newswire(train=10, test=5)", "gives no Pairs but a Corpus"),
        ("nowhere.tsv", "no such file"),
        ("reverse(train=0)", "train and test >= 1"),
        ("reverse(shortest=0)", "1 <= shortest <= longest"),
        ("copy(shortest=1, longest=1)", "no 4400 different texts of that length"),
        ("dates(train=80000)", "has 73000 pairs"),
        ("sort(lenght=3)", "lenght"),
    ],
)
def test_impossible_requests_are_refused(registry: Registry, spec: str, complaint: str) -> None:
    with pytest.raises(ZooError, match=complaint):
        load_pairs(spec, registry)


def test_pairs_of_one_source_are_in_one_split(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"word {i}\tone {i}\nword {i}\tother {i}\n" for i in range(40)))
    pairs = load_pairs(str(path), registry)
    assert (len(pairs.train), len(pairs.test)) == (60, 20)
    assert not {source for source, _ in pairs.train} & {source for source, _ in pairs.test}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a\tb\nc\n", "line 2: 0 tabs"),
        (b"a\tb\tc\n", "line 1: 2 tabs"),
        (b"a\t\n", "line 1: the target is empty"),
        (b" \tb\n", "line 1: the source is empty"),
        (b"a\tb\n\nc\td\n", "line 2: 0 tabs"),
        (b"a\tb\na\tc\n", "has 1 different sources"),
        (b"", "has 0 different sources"),
        (b"a\t\xff\n", "not UTF-8"),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused(
    registry: Registry, tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    with pytest.raises(ZooError, match=complaint):
        load_pairs(str(path), registry, TextReading(encoding="utf-8"))


def test_pairs_in_another_encoding_and_lines_that_are_left_out(
    registry: Registry, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.tsv"
    lines = [f"caf\u00e9 {i}\tcoffee {i}\n" for i in range(8)]
    path.write_bytes("".join([*lines, "no tab\n", "a\t\n"]).encode("latin-1"))
    notices: list[str] = []
    pairs = load_pairs(str(path), registry, TextReading(drop_bad_rows=True), notices)
    assert ("caf\u00e9 0", "coffee 0") in [*pairs.train, *pairs.test]
    assert "read as cp1252, which is a guess" in notices[0]
    assert "line 9: 0 tabs" in notices[1]
    assert notices[2].endswith("line 10: the target is empty; left out")
    with pytest.raises(ZooError, match="--encoding: for files, and 'reverse' is none"):
        load_pairs("reverse", registry, TextReading(encoding="latin-1"))


def test_a_pair_too_long_is_refused_with_the_length_it_needs() -> None:
    pairs = Pairs("long", [("a", "b"), ("c " * 30, "d")], [("a", "b")])
    with pytest.raises(ZooError, match=r"longer than 10 tokens; the longest takes --max-length \d"):
        encode_pairs(pairs, 300, 10)


def test_a_batch_gives_the_target_and_asks_for_the_next_token(registry: Registry) -> None:
    from tokenizers import Tokenizer

    pairs = load_pairs(f"reverse({SMALL}, shortest=1, longest=5)", registry)
    encoded = encode_pairs(pairs, 300, 12)
    tokenizer = Tokenizer.from_file(str(encoded.tokenizer_path))
    split = PairSplit(encoded, ["test"], torch.device("cpu"))
    batch = split.batch(np.arange(len(split)))
    assert batch.decoder_tokens.attention_mask is not None
    for row, (source, target) in enumerate(pairs.test):
        real = batch.decoder_tokens.attention_mask[row]
        given, asked = batch.decoder_ids[row][real].tolist(), batch.targets[row][real].tolist()
        assert (given[0], asked[-1]) == (START, END)
        assert given[1:] == asked[:-1]
        assert decode_target(tokenizer, asked) == target == split.texts[row]
        assert (batch.targets[row][~real] == PAD).all()
        assert decode_target(tokenizer, batch.ids[row].tolist()) == source
    assert batch.items == int(batch.decoder_tokens.attention_mask.sum())
