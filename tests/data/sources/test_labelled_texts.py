"""Local files: every format gives the same corpus, and errors name file and row."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from reading import read
from refused import refused

ROWS: list[dict[str, Any]] = [
    {"text": 'he said "no", twice', "label": "sad"},
    {"text": "two\nlines, one\ttab", "label": "glad"},
    {"text": "naïve 東京 \u2028 null", "label": "sad"},
    {"text": "NA", "label": "glad"},
] * 4


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    frame = pd.DataFrame(rows)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet"])
def test_every_format_gives_the_same_corpus(tmp_path, suffix):
    corpus, notices = read(write(tmp_path / f"data{suffix}", ROWS))
    expected, _ = read(write(tmp_path / "same.jsonl", ROWS))
    assert corpus == expected
    assert corpus.label_names == ["glad", "sad"]
    assert (len(corpus.train_texts), len(corpus.test_texts)) == (12, 4)
    assert sorted(corpus.test_labels) == [0, 0, 1, 1]
    assert notices == ["mine has no test split; stratified, seed 0, 4 of 16 for test"]


def test_a_directory_has_its_splits_as_given(tmp_path):
    write(tmp_path / "train.csv", ROWS[:6])
    write(tmp_path / "test.parquet", ROWS[6:])
    (tmp_path / "README.md").write_text("not data", encoding="utf-8")
    corpus, notices = read(tmp_path)
    assert corpus.train_texts == [row["text"] for row in ROWS[:6]]
    assert corpus.test_labels == [int(row["label"] == "sad") for row in ROWS[6:]]
    assert (notices, corpus.notes) == ([], {"split": "as given"})


def test_shards_and_a_validation_split_used_as_test(tmp_path):
    write(tmp_path / "train-00000-of-00002.parquet", ROWS[:6])
    write(tmp_path / "train-00001-of-00002.parquet", ROWS[6:12])
    write(tmp_path / "validation.jsonl", ROWS[12:])
    corpus, notices = read(tmp_path)
    assert corpus.train_texts == [row["text"] for row in ROWS[:12]]
    assert notices == ["mine has no test split; its validation split is used"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_integer_labels_keep_their_order_and_take_their_names(tmp_path, suffix):
    names = {10: "ten", 9: "nine", -1: "none"}
    rows = [{"text": f"t{i}", "label": n, "label_text": names[n]} for i, n in enumerate(names)] * 3
    corpus, _ = read(write(tmp_path / f"named{suffix}", rows))
    assert corpus.label_names == ["none", "nine", "ten"]
    bare, _ = read(
        write(tmp_path / f"bare{suffix}", [{k: r[k] for k in ("text", "label")} for r in rows])
    )
    assert bare.label_names == ["-1", "9", "10"]
    assert bare.train_labels == corpus.train_labels


def test_labels_are_text_as_it_is_written(tmp_path):
    rows = [{"text": f"t{i}", "label": label} for i, label in enumerate(["01", "1", "2", "02"] * 3)]
    corpus, _ = read(write(tmp_path / "codes.csv", rows))
    assert corpus.label_names == ["01", "1", "02", "2"]
    splits = ((texts, labels) for _, texts, labels in corpus.splits())
    named = {t: corpus.label_names[n] for pair in splits for t, n in zip(*pair, strict=True)}
    assert named == {row["text"]: row["label"] for row in rows}


def test_labels_are_the_same_in_every_split_and_format(tmp_path):
    labels = ["1", "2", "other", "10"]
    write(tmp_path / "train.csv", [{"text": f"t{n}", "label": n} for n in labels])
    numbers = [{"text": f"u{n}", "label": n} for n in (1, 2, 10)]
    write(tmp_path / "test.csv", numbers)
    write(tmp_path / "valid.jsonl", numbers)
    corpus, _ = read(tmp_path)
    assert corpus.label_names == ["1", "10", "2", "other"]
    assert corpus.test_labels == corpus.validation_labels == [0, 2, 1]
    write(tmp_path / "train.csv", [{"text": f"t{n}", "label": n} for n in ("1", "2", "10")])
    assert read(tmp_path)[0].label_names == ["1", "2", "10"]  # numbers go by their values


@pytest.fixture(scope="module")
def opened() -> list[str]:
    """The path of every file that is opened from now on."""
    paths: list[str] = []
    sys.addaudithook(lambda event, given: paths.append(str(given[0])) if event == "open" else None)
    return paths


@pytest.mark.parametrize("name", ["a.csv", "latin.csv", "a.tsv", "a.dat", "a.csv.gz", "a.jsonl"])
def test_a_file_is_opened_once(opened, tmp_path, name):
    path = tmp_path / name
    rows = [{"text": f'caf\u00e9 "{i}"', "label": i % 2} for i in range(8)]
    if path.suffix == ".jsonl":
        write(path, rows)
    else:
        separator = {"a.tsv": "\t", "a.csv.gz": ","}.get(name, ";")
        encoding = "latin-1" if name == "latin.csv" else "utf-8"
        pd.DataFrame(rows).to_csv(path, index=False, sep=separator, encoding=encoding)
    opened.clear()
    corpus, _ = read(path)
    assert opened.count(str(path)) == 1
    assert sorted([*corpus.train_texts, *corpus.test_texts]) == [row["text"] for row in rows]


def test_other_columns_by_name_and_booleans(tmp_path):
    rows = [{"body": f"t{i}", "spam": i % 2 == 0} for i in range(8)]
    corpus, _ = read(
        write(tmp_path / "mail.parquet", rows), text_column="body", label_column="spam"
    )
    assert corpus.label_names == ["false", "true"]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.jsonl", " \n", "a.jsonl is empty"),
        ("a.json", "[]", "a.json is empty: it has no rows"),
        ("a.csv", "text,label\n", "a.csv is empty: it has no rows"),
        ("a.csv", "txt,label\nx,1\n", r"no column 'text' \(--text-column\).*did you mean 'txt'"),
        ("a.csv", "text,kind\nx,1\n", r"no column 'label' \(--label-column\).*There is: text, kin"),
        ("a.csv", "text,label\nx,1\n ,2\n", "a.csv, line 3: 'text' is empty"),
        ("a.csv", "text,label\nx,1\ny\n", "a.csv, line 3: 'label' is missing"),
        ("a.csv", "text,label\nx,1,2\ny,1,2\n", "has more fields than its header.* 2 and 3"),
        ("a.csv", "text,label\nx,1\ny,1,2\n", "line 3 .*: 3 fields, where its header has 2"),
        ("a.jsonl", '{"text": "x", "label": 1}\n{"text": \n', "broken JSON in line 2, column 10"),
        ("a.jsonl", '{"text": "x", "label": 1}\n[1]\n', "line 2 is no object but a list"),
        ("a.jsonl", '{"text": 5, "label": 1}\n', "line 1: 'text' is not text but a int"),
        ("a.jsonl", '{"text": "x", "label": 1.5}\n', "line 1: 'label' must be text or a whole"),
        ("a.jsonl", '{"text": "x", "label": NaN}\n', "line 1: 'label' is missing"),
        (
            "a.jsonl",
            '{"text": "x", "label": "a\\ud800"}\n',
            "line 1: 'label' holds half a character",
        ),
        (
            "a.jsonl",
            f'{{"text": "x", "label": {"9" * 5000}}}',
            "broken JSON in line 1: a number is",
        ),
        ("a.json", '[{"text": "x"},\n{"text": ', "a.json is broken JSON in line 2, column 10"),
        ("a.json", '[{"text": "x", "label": 1}, 2]', "a.json, row 2 is no object but a int"),
        ("a.json", b'[{"text": "\xef"}]', "a.json is not UTF-8: byte 0xef in line 1"),
        ("a.jsonl", "[" * 9999, "a.jsonl is broken JSON"),
        ("a.parquet", "no parquet", "a.parquet cannot be read: ArrowInvalid"),
        ("a.xlsx", "x", r"a.xlsx is of no format the zoo reads \(.csv, .tsv"),
    ],
)
def test_a_file_that_does_not_fit_is_named_with_the_place(tmp_path, name, content, complaint):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(complaint, read, path)


def unseen(folder: Path) -> None:
    write(folder / "train.csv", ROWS)
    write(folder / "test.csv", [{"text": "x", "label": "angry"}])


def one_class(folder: Path) -> None:
    write(folder / "train.csv", [{"text": f"t{i}", "label": "sad"} for i in range(8)])


def two_names(folder: Path) -> None:
    rows = [{"text": "x", "label": 0, "label_text": "a"}, {"text": "y", "label": 1}]
    rows += [{"text": "z", "label": 0, "label_text": "b"}]
    write(folder / "train.jsonl", [{"label_text": "c", **row} for row in rows for _ in range(4)])


def two_files(folder: Path) -> None:
    write(folder / "train.csv", ROWS)
    write(folder / "train.jsonl", ROWS)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (unseen, "test has a class that train lacks: 'angry'"),
        (one_class, "every train text is 'sad'"),
        (two_names, "label 0 is '[ab]' in one row and '[ab]' in another"),
        (two_files, "two files for one split: train.csv, train.jsonl"),
        (lambda folder: write(folder / "data.csv", ROWS), "no train file.*there is: data.csv"),
        (lambda folder: None, "no train file.*there is: no data file"),
    ],
)
def test_a_directory_that_does_not_fit(tmp_path, make, complaint):
    make(tmp_path)
    refused(complaint, read, tmp_path)
