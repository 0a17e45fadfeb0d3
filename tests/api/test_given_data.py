"""``data=`` takes what Python holds, and gives what a file of the same rows gives."""

import json
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow
import pytest
from refused import refused
from small_runs import result_of

import zoo
from zoo.data.sources.load_data import load_corpus, stored
from zoo.registry import Registry
from zoo.sweep.records import Record, RecordFile

TRAIN = {"phases": "train", "blocks": None, "baseline": "none"}
ROWS = {**TRAIN, "epochs": 1, "seeds": 1, "on": "inline"}


@pytest.fixture(scope="module")
def frames(corpus) -> dict[str, pd.DataFrame]:
    return {split: pd.read_csv(corpus / f"{split}.csv") for split in ("train", "test")}


def record_of(data: Any, out: Path, small: dict[str, Any], **more: Any) -> Record:
    zoo.bench("fused", out=out, **{**small, **ROWS, **more, "data": data})
    (record,) = RecordFile(out).read()
    return record


def test_every_form_of_the_same_rows_is_the_same_data(frames, small):
    by_file, _ = load_corpus(Registry(), small["data"])
    forms = {
        "DataFrame": frames,
        "lists": {s: (f.text.tolist(), f.label.tolist()) for s, f in frames.items()},
        "Series": {s: (f.text, f.label.to_numpy()) for s, f in frames.items()},
        "dicts": {s: f.to_dict("records") for s, f in frames.items()},
        "Table": {s: pyarrow.Table.from_pandas(f) for s, f in frames.items()},
        "DatasetDict": datasets.DatasetDict(
            {s: datasets.Dataset.from_pandas(f) for s, f in frames.items()}
        ),
    }
    for name, form in forms.items():
        corpus, _ = load_corpus(Registry(), stored(form, {}))
        assert corpus.fingerprint == by_file.fingerprint, name
        kind = name if name[0].isupper() and name != "Series" else "list"
        assert corpus.name.startswith(f"{kind}-102-rows-")


def test_a_frame_trains_the_model_that_its_file_trains(frames, small, tmp_path):
    by_file = record_of(small["data"], tmp_path / "file", small)
    record = record_of(frames, tmp_path / "frame", small)
    assert result_of(record) == result_of(by_file)
    assert record.config["data"]["name"] in record.command


def test_one_frame_is_divided_and_the_key_is_its_content(frames, small, tmp_path):
    frame = frames["train"].rename(columns={"text": "body", "label": "topic"})
    named = {"text_column": "body", "label_column": "topic"}
    first = record_of(frame, tmp_path / "out", small, **named)
    assert (first.config["data"]["train"], first.config["data"]["test"]) == (54, 18)
    options = {**small, **ROWS, **named}
    options["data"] = frame.copy()
    zoo.bench("fused", out=tmp_path / "out", **options)
    assert len(RecordFile(tmp_path / "out").read()) == 1  # nothing is trained again
    options["data"] = frame.assign(body=frame.body.str.upper())
    refused("holds records of data", zoo.bench, "fused", out=tmp_path / "out", **options)


def test_classes_of_a_data_set_keep_their_names_and_order(frames, small, tmp_path):
    names = ["sport", "music", "market"]  # not in alphabetical order
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=names)}
    )
    made = datasets.Dataset.from_dict(
        {c: frames["train"][c].tolist() for c in ("text", "label")}, features=features
    )
    record = record_of(made, tmp_path / "out", small)
    assert record.config["data"]["labels"] == names
    assert record.config["data"]["name"].startswith("Dataset-72-rows-")


def test_tags_are_lists_too(small, tmp_path):
    tokens = [["the", "owl", "sees", str(n)] for n in range(12)]
    tags = [["O", "ANIMAL", "O", "NUMBER"]] * 12
    options = {**small, **ROWS, "task": "tag", "keep_duplicates": True}
    options["data"] = (tokens, tags)
    result = zoo.bench("fused", out=tmp_path / "out", **options)
    assert result.table.score.notna().all()


def test_several_data_sets_may_be_given_in_python(frames, small, tmp_path):
    options = {**small, **ROWS, "data": ["order(train=30,test=6)", frames["train"]]}
    result = zoo.bench("fused", out=tmp_path / "out", **options)
    names = set(result.table["data"])
    assert {name.partition("(")[0][:9] for name in names} == {"order", "DataFrame"}
    assert all(name in repr(result) for name in names)


def test_two_pairs_in_a_list_are_two_data_sets_and_a_pair_is_one():
    texts, labels = ["a", "b", "c", "d"], ["x", "y", "x", "y"]
    two = stored([(texts, labels), (texts[::-1], labels)], {})
    assert [Path(path).name[:11] for path in two] == ["list-4-rows"] * 2
    frames = stored([TEXTS, TEXTS[:4]], {})
    assert [Path(path).name[:16] for path in frames] == ["DataFrame-8-rows", "DataFrame-4-rows"]
    for pair in ((texts, labels), ([["a", "b"], ["c"]], [["X", "Y"], ["X"]])):
        assert isinstance(stored(pair, {}), str)


def test_a_fraction_keeps_its_digits():
    frame = pd.DataFrame({"text": ["a", "b"] * 4, "label": [1 / 3, 2 / 3] * 4})
    corpus, _ = load_corpus(Registry(), stored(frame, {}))
    assert corpus.label_names == ["0.3333333333333333", "0.6666666666666666"]


def test_values_that_json_lacks_are_written_as_they_are_read():
    frame = pd.DataFrame(
        {
            "text": ["naïve — ✓", 'with "quotes"\nand lines'],
            "label": pd.Categorical(["a", "b"]),
            "when": pd.to_datetime(["2026-01-01", None]),
            "score": [1.5, np.nan],
            "ids": [np.array([1, 2]), None],
        }
    )
    first, second = json.loads((Path(stored(frame, {})) / "train.json").read_text("utf-8"))
    assert (first["text"], second["text"]) == tuple(frame.text)
    assert (first["label"], first["ids"]) == ("a", [1, 2])
    assert second["score"] is second["when"] is None


TEXTS = pd.DataFrame({"text": ["a", "b"] * 4, "label": [0, 1] * 4})


@pytest.mark.parametrize(
    ("data", "more", "says"),
    [
        (7, {}, "data is a int"),
        (
            [("a b", "x", 1), ("c d", "y", 2)],
            {},
            r"data has \('a b', 'x', 1\): rows must be a list",
        ),
        ([("a b", "x"), ("c d", "y")], {}, r"data has \('a b', 'x'\): rows must be a list of dic"),
        (["a b c", "d e f"], {}, "no data 'a b c', and no such file"),
        (
            [["a", "x"], ["b", "y"]],
            {},
            r"row \['a', 'x'\]: .* or a pair of lists \(texts, labels\)",
        ),
        ([], {}, "^the list is empty: it has no rows"),
        (TEXTS.assign(text=["a", None] * 4), {}, "'text' is missing"),
        (TEXTS.assign(label=[0, pd.NA] * 4), {}, r"'label' is missing \(4 of 8 rows\)"),
        (TEXTS.assign(label=[0, float("inf")] * 4), {}, r"'label' is missing \(4 of 8 rows\)"),
        ((["a", "b"], ["x", None]), {}, "^the list, row 2: 'label' is missing"),
        ((["a", "b"], ["x"]), {}, "2 texts but 1 labels"),
        ({"test": (["a"], ["x"])}, {}, "there must be train"),
        ({f"text {n}": "a" for n in range(99)}, {}, "^data has the splits .{60}: .*rows must be"),
        (TEXTS[:0], {}, "empty"),
        (
            pd.concat([TEXTS, TEXTS.text], axis=1),
            {},
            "^data has two columns 'text'",
        ),
        # What is wrong with a frame is said of the frame, by one name.
        (TEXTS.assign(label=[0] * 7 + [1]), {}, "^the DataFrame has no test split and cannot be"),
        (TEXTS.assign(label=0), {}, r"^the DataFrame: train has the classes \['0'\]; two are"),
        ({"train": TEXTS, "test": TEXTS}, {}, "^the DataFrame: every train document is also in"),
        (TEXTS.rename(columns={"text": "body"}), {}, "^the DataFrame has no column 'text'"),
        (
            {"train": TEXTS, "test": TEXTS.assign(text=["a"] * 7 + [""])},
            {},
            "^test of the DataFrame, row 8: 'text' is empty",
        ),
        ((["\ud800", "b"], ["x", "y"]), {}, "^the list, row 1: 'text' holds half a char"),
        (TEXTS.assign(text=b"x"), {}, "^data holds bytes, b'x': decode them to text"),
        (TEXTS, {"delimiter": ";"}, "^--delimiter: for files, and the DataFrame is none"),
    ],
    ids=(
        "number three rest texts two nothing missing label infinite pair lengths no-train map "
        "empty twice single class same column line half bytes delimiter"
    ).split(),
)
def test_data_that_do_not_fit_are_one_line(data, more, says, small, tmp_path):
    options = {**small, **ROWS, **more, "data": data}
    refused(says, zoo.bench, "fused", out=tmp_path / "out", **options)
