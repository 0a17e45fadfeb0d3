"""Train, evaluate and predict read one file in one way; a record repeats the options."""

from __future__ import annotations

import gzip
import json
import os
import shlex
from pathlib import Path

import pytest
from saved_models import TINY

from zoo.cli import main
from zoo.inference.directory import read
from zoo.inference.train import find_run_row
from zoo.registry.loading import load

TOPICS = {"1": "goal match team coach", "2": "shares bank bond profit"}
READING = ["--no-header", "--text-column", "2,3"]


def write(path: Path, numbers: range) -> Path:
    """As AG News: no header, a class, a title and a text, all quoted, in latin-1."""
    lines = [
        f'"{label}","Title {number}","{words}, caf\u00e9 ""{number}"""\r\n'
        for number in numbers
        for label, words in TOPICS.items()
    ]
    path.write_bytes("".join(lines).encode("latin-1"))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agnews")
    write(folder / "train.csv", range(24))
    write(folder / "other.csv", range(100, 105))
    return folder


@pytest.fixture(scope="module")
def saved(folder: Path, _environment: None) -> Path:
    given = [*READING, "--label-column", "1", "--test", str(folder / "other.csv")]
    arguments = [*TINY, "--data", str(folder / "train.csv"), *given, "--lr", "0.01"]
    assert main(["train", *arguments, "--save", str(folder / "model")]) == 0
    return folder / "model"


def test_the_options_are_in_the_card_and_its_command(saved: Path, folder: Path) -> None:
    card = read(saved)
    assert card.labels == ["1", "2"]
    assert (card.data["train"], card.data["test"]) == (48, 10)
    options = card.task_options
    assert (options["header"], options["text_column"], options["label_column"]) == (
        False,
        "2,3",
        "1",
    )
    assert options["test"] == "other.csv", "the path is in the command alone"
    assert str(folder) not in card.model_dump_json(exclude={"command"})
    assert "cp1252" in card.data["notes"]["reading"]
    words = shlex.split(card.command)
    assert "--no-header" in words
    for flag, value in (
        ("--text-column", "2,3"),
        ("--label-column", "1"),
        ("--test", os.path.relpath(folder / "other.csv")),
    ):
        assert words[words.index(flag) + 1] == value


@pytest.mark.usefixtures("_environment")
def test_a_run_has_the_name_of_its_test_file_and_is_trained_again_with_its_path(
    folder: Path, tmp_path: Path
) -> None:
    other = str(folder / "other.csv")
    given = [*READING, "--label-column", "1", "--test", other, "--phases", "train"]
    words = [*TINY, "--data", str(folder / "train.csv"), *given, "--on", "inline"]
    assert (
        main(["bench", *words, "--seeds", "1", "--baseline", "none", "--out", str(tmp_path)]) == 0
    )
    row = find_run_row(tmp_path)
    assert row.record.config["task_options"]["test"] == "other.csv"
    assert other not in row.record.model_dump_json(exclude={"command"})
    assert row.options(load().registry)["test"] == os.path.relpath(other)


def test_evaluate_reads_it_with_the_same_options(
    saved: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(folder / "other.csv")
    given = [*READING, "--label-column", "1", "--encoding", "latin-1"]
    assert main(["evaluate", str(saved), "--data", other, "--split", "all", *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["documents"], found["accuracy"]) == (10, read(saved).metrics["accuracy"])
    train = str(folder / "train.csv")
    tested = ["evaluate", str(saved), "--data", train, "--test", other, *given, "--json"]
    assert main(tested) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == found["accuracy"]
    assert main(["evaluate", str(saved), "--data", other, "--split", "all"]) == 2
    assert "if its first line is no header, say --no-header" in capsys.readouterr().err
    assert main(["evaluate", str(saved), "--data", other, "--delimiter", "::"]) == 2
    assert "--delimiter '::': expected one character" in capsys.readouterr().err
    assert main(["evaluate", str(saved), "--data", other, *given, "--split", "validation"]) == 2
    assert "other.csv has no validation split" in capsys.readouterr().err


def test_predict_reads_it_with_the_same_options(
    saved: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ["predict", str(saved), "--input", str(folder / "other.csv"), "--format", "jsonl"]
    assert main([*source, *READING]) == 0
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert len(rows) == 10
    assert rows[0]["text"] == 'Title 100\ngoal match team coach, caf\u00e9 "100"'
    assert "read as cp1252, which is a guess" in printed.err
    assert main([*source, *READING, "--encoding", "latin-1"]) == 0
    assert "guess" not in capsys.readouterr().err
    assert main([*source, "--no-header", "--text-column", "4"]) == 2
    assert "has no column '4' (--text-column)" in capsys.readouterr().err
    assert main(["predict", str(saved), "a text", "--no-header"]) == 2
    assert "--no-header: for --input FILE" in capsys.readouterr().err


def test_predict_leaves_broken_rows_out_where_asked(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "texts.csv.gz"
    path.write_bytes(gzip.compress(b"id,text\n1,goal\n2,\n3,bank,more\n4,bond\n"))
    assert main(["predict", str(saved), "--input", str(path), "--format", "csv"]) == 2
    empty, more, corrected = capsys.readouterr().err.splitlines()
    assert "line 3: 'text' is empty" in empty
    assert "line 4 has more fields than its header" in more
    assert main(shlex.split(corrected.removeprefix("Corrected: zoo "))) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 3
    assert "line 3: 'text' is empty; left out\n" in printed.err
    assert (
        "line 4 has more fields than its header: 3 fields, where its header has 2; left out\n"
        in (printed.err)
    )
