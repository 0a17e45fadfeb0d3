"""Train, evaluate and predict read one file in one way; a record repeats the options."""

import gzip
import json
import os
import shlex
from pathlib import Path

import pytest
from saved_models import TINY, train

from zoo.cli import main
from zoo.inference.saved_model import read
from zoo.inference.train import find_training, request_again
from zoo.registry.loading import load

TOPICS = {"1": "goal match team coach", "2": "shares bank bond profit"}
READING = ["--no-header", "--text-column", "2,3", "--encoding", "latin-1"]
LABELLED = [*READING, "--label-column", 1]


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
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("agnews")
    write(folder / "train.csv", range(24))
    write(folder / "other.csv", range(100, 105))
    return folder


@pytest.fixture(scope="module")
def saved(folder, _isolated) -> Path:
    given = [*LABELLED, "--test", folder / "other.csv", "--lr", 0.01]
    return train(folder / "model", *TINY, "--data", folder / "train.csv", *given)


def test_the_options_are_in_the_card_and_its_command(saved, folder):
    card = read(saved)
    assert card.labels == ["1", "2"]
    assert (card.data["train"], card.data["test"]) == (48, 10)
    options = card.task_options
    expected = {"header": False, "text_column": "2,3", "label_column": "1", "test": "other.csv"}
    assert expected.items() <= options.items(), "the path is in the command alone"
    assert str(folder) not in card.model_dump_json(exclude={"command"})
    words = shlex.split(card.command)
    assert "--no-header" in words
    for flag, value in (
        ("--text-column", "2,3"),
        ("--label-column", "1"),
        ("--test", os.path.relpath(folder / "other.csv")),
    ):
        assert words[words.index(flag) + 1] == value


@pytest.mark.usefixtures("_isolated")
def test_a_run_has_the_name_of_its_test_file_and_is_trained_again_with_its_path(
    folder, tmp_path, said
):
    other = str(folder / "other.csv")
    given = [*TINY, "--data", folder / "train.csv", *LABELLED, "--test", other]
    more = ["--phases", "train", "--seeds", 1, "--baseline", "none", "--out", tmp_path]
    said("bench", *given, *more)
    record = find_training(tmp_path)
    assert record.config["task_options"]["test"] == "other.csv"
    assert other not in record.model_dump_json(exclude={"command"})
    request = request_again(record, {}, load().registry)
    assert request.task_options["test"] == os.path.relpath(other)


def test_evaluate_reads_it_with_the_same_options(saved, folder, said, answer):
    command, given = ["evaluate", saved, "--data"], LABELLED
    other = folder / "other.csv"
    found = answer(*command, other, "--split", "all", *given)
    assert (found["documents"], found["accuracy"]) == (10, read(saved).metrics["accuracy"])
    tested = answer(*command, folder / "train.csv", "--test", other, *given)
    assert tested["accuracy"] == found["accuracy"]
    for words, says in (
        (["--split", "all", "--no-header"], "is not UTF-8: byte 0xe9 in line 1; if it is cp"),
        (["--delimiter", "::"], "--delimiter ::: expected one character"),
        ([*given, "--split", "validation"], "other.csv has no validation split"),
    ):
        assert says in said(*command, other, *words, status=2).err


def test_predict_reads_it_with_the_same_options(saved, folder, said):
    source = ["predict", saved, "--input", folder / "other.csv", "--json"]
    printed = said(*source, *READING)
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert len(rows) == 10
    assert rows[0]["text"] == 'Title 100\ngoal match team coach, caf\u00e9 "100"'
    printed = said(*source, *READING, "--text-column", 4, status=2)
    assert "has no column '4' (--text-column)" in printed.err
    printed = said("predict", saved, "a text", "--no-header", status=2)
    assert "or how it is read: use one of the two" in printed.err


def test_predict_leaves_broken_rows_out_where_asked(saved, tmp_path, capsys):
    path = tmp_path / "texts.csv.gz"
    path.write_bytes(gzip.compress(b"id,text\n1,goal\n2,\n3,bank,more\n4,bond\n"))
    words = ["predict", str(saved), "--input", str(path), "--json"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "'text' is empty" not in said  # it has an answer
    assert "line 4: 3 fields, where its header has 2" in said
    assert main([*words, "--drop-bad-rows"]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert printed.err.count("left out") == 2
