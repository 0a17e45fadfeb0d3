"""What the commands of saved models print: ``zoo predict``, ``evaluate`` and ``attend``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from small_runs import CLASSIFY, MLM, train

from zoo.cli.model import report_limits

LABELS = ["market", "music", "sport"]
TEXTS = ["the goal of the match", "a bank of the stock market " * 9]


@pytest.fixture(scope="module")
def model(corpus, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("model") / "sorter"
    return train(place, {**CLASSIFY, "data": corpus, "epochs": 1})


@pytest.fixture(scope="module")
def filler(corpus, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("filler") / "filler"
    return train(place, {**MLM, "data": corpus, "epochs": 1})


def as_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_are_lines_in_columns_and_the_same_as_csv_and_json(model, said):
    shown, note = said("predict", model, *TEXTS)
    head, *lines = shown.splitlines()
    assert head == "label   probability  text"  # as wide as the longest label
    assert [line[21:].split()[:2] for line in lines] == [text.split()[:2] for text in TEXTS]
    assert "1 of 2 texts is longer than the model's 24 tokens; the rest was not read" in note

    rows = as_csv(said("predict", model, *TEXTS, "--format", "csv").out)
    lines_of_json = said("predict", model, *TEXTS, "--format", "jsonl").out.splitlines()
    values = [json.loads(one) for one in lines_of_json]
    shares = [f"p({label})" for label in LABELS]
    assert list(rows[0]) == ["text", "label", "probability", "tokens", "cut", "unknown", *shares]
    for line, row, value, text in zip(lines, rows, values, TEXTS, strict=True):
        assert row["text"] == value["text"] == text
        assert row["label"] == value["label"] == line.split()[0]
        assert (
            float(row["probability"])
            == value["probability"]
            == max(value["probabilities"].values())
        )
        assert line.split()[1] == f"{value['probability']:.3f}"
        assert [float(row[name]) for name in shares] == [value["probabilities"][n] for n in LABELS]
        assert sum(float(row[name]) for name in shares) == pytest.approx(1, abs=1e-4)
        assert [int(row[n]) for n in ("tokens", "cut")] == [value["tokens"], value["cut"]]


def test_an_evaluation_is_of_the_split_that_is_asked_for_and_shows_so_many_mistakes(
    model, corpus, said
):
    for words, split in (
        ([], "test split: 30 documents"),
        (["--split", "train"], "train split: 72 documents"),
        (["--split", "all"], "all documents: 102 documents"),
    ):
        shown = said("evaluate", model, "--data", corpus, *words).out
        assert shown.splitlines()[0].endswith(split), shown
    whole = json.loads(
        said("evaluate", model, "--data", corpus, "--json", "--mistakes", "1000").out
    )
    count = len(whole["mistakes"])
    assert count == round(30 * (1 - whole["accuracy"])) > 2
    assert [sum(row) for row in whole["confusion"]] == [10, 10, 10]
    few = json.loads(said("evaluate", model, "--data", corpus, "--json", "--mistakes", "2").out)
    assert few["mistakes"] == whole["mistakes"][:2]
    shown = said("evaluate", model, "--data", corpus, "--mistakes", "2").out
    _, _, table = shown.partition(f"\nThe worst of {count} mistakes\n\n")
    head, *lines = table.splitlines()
    assert head.split() == ["true", "predicted", "p(true)", "text"]
    assert len(lines) == 2
    assert "The worst of" not in said("evaluate", model, "--data", corpus, "--mistakes", "0").out


def test_a_model_of_masks_is_evaluated_and_fills_texts(filler, corpus, said):
    for split, texts in (
        ("test", "held-out texts"),
        ("train", "training texts"),
        ("all", "all texts"),
    ):
        shown = said("evaluate", filler, "--data", corpus, "--split", split).out
        assert f"{texts}: " in shown
        assert "masked token" in shown
    shown = said("predict", filler, "the [MASK] of the match").out
    filled, mask = shown.splitlines()
    pieces = mask.removeprefix("  mask 1: ").split(", ")
    rows = as_csv(said("predict", filler, "the [MASK] of the match", "--format", "csv").out)
    assert [f"{row['piece']} {float(row['probability']):.3f}" for row in rows] == pieces
    assert {(row["text"], row["mask"]) for row in rows} == {("1", "1")}
    assert filled.split()[0] == "the"


def test_a_map_that_is_written_is_named_and_not_printed(model, folder, said):
    shown, note = said("attend", model, TEXTS[0], "--out", "map.svg", "--out", "map.html")
    assert shown == ""
    assert note.splitlines() == ["wrote map.svg", "wrote map.html"]
    assert {path.name for path in folder.iterdir()} == {"map.svg", "map.html"}


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((0, 0, 1), []),
        ((1, 0, 1), ["note: the text is longer than the model's 8 tokens; the rest was not read"]),
        ((1, 2, 3), [
            "note: 1 of 3 texts is longer than the model's 8 tokens; the rest was not read",
            "note: 2 of 3 texts have words the model does not know",
        ]),
    ],
)  # fmt: skip
def test_what_was_not_read_or_not_known_is_said(counts, said, capsys):
    report_limits(*counts, max_length=8)
    assert capsys.readouterr().err.splitlines() == said
