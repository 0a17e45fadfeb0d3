"""All that is wrong with data is said at once, with a command that reads them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pandas as pd
import pytest
from reading import reader
from refused import refused

from zoo.cli import main
from zoo.data.sources.corpus import Corpus
from zoo.data.sources.in_memory import stored
from zoo.data.sources.labels import Example, spelled_as
from zoo.data.sources.load_data import load_data
from zoo.registry import Registry

TOPICS = {"Billing": "invoice refund", "Login": "password locked", "Shipping": "parcel late"}


def messy() -> list[list[str]]:
    """Tickets with other columns, empty cells, one label in two spellings, and rare classes."""
    rows = [[f"{n}", f"{TOPICS[t]} {n}", t] for n in range(30) for t in TOPICS]
    for number in (3, 40, 41, 50, 60, 70, 80):
        rows[number][2] = " "
    rows[7][1] = ""
    rows[12][2] = rows[18][2] = "billing"
    return [*rows, ["90", "something else", "Legal"], ["91", "who knows", "Press"]]


def write(path: Path, rows: list[list[str]], header: str = "id,message,category") -> Path:
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n", encoding="utf-8")
    return path


def load(path: Path, **options: object) -> tuple[Corpus, list[str]]:
    return load_data(Registry(), str(path), reader(**options), Corpus)


def test_every_problem_is_named_at_once_and_the_printed_command_runs(tmp_path, capsys):
    path = write(tmp_path / "my tickets.csv", messy())
    typed = ["bench", "--data", str(path), "--plan", "--label-column=kind"]
    assert main(typed) == 2
    *problems, corrected = capsys.readouterr().err.splitlines()
    assert len(problems) == 5
    spelt = sum(row[1] != "" and row[2] == "Billing" for row in messy())
    for problem, wanted in zip(
        problems,
        (
            "no column 'text' (--text-column), 'kind' (--label-column). There is: id, message",
            "'category' is missing, in 7 of 92 rows (lines 5, 42, 43, 52, 62 and 2 more)",
            "line 9: 'message' is empty",
            "2 classes have only one document, 'Legal' (line 92) and 'Press' (line 93)",
            f"spaces or accents only: 'Billing' ({spelt}) and 'billing' (2); --merge-labels",
        ),
        strict=True,
    ):
        assert wanted in problem
    words = shlex.split(corrected.removeprefix("Corrected: "))
    assert words[:5] == ["zoo", "bench", "--data", str(path), "--plan"]
    assert {"--drop-bad-rows", "--merge-labels", "message", "category"} < set(words)
    assert main(words[1:]) == 0


def test_python_is_told_the_options_that_read_a_frame():
    frame = pd.DataFrame(messy(), columns=["id", "message", "category"])
    says = r"give text_column='message'.*drop_bad_rows=True"
    assert refused(says, load, Path(stored(frame, {}))).options == {
        "text_column": "message",
        "label_column": "category",
        "drop_bad_rows": True,
        "min_class": 2,
        "merge_labels": True,
    }


def test_nothing_is_advised_that_does_not_help(tmp_path):
    path = write(tmp_path / "x.csv", [["1", "", "a"], ["2", "", "b"]])
    columns = {"text_column": "message", "label_column": "category"}
    caught = refused("no row can be used", load, path, **columns)
    assert caught.options == {}
    assert "'message' is empty, in 2 of 2 rows (lines 2 and 3)" in str(caught)
    path = write(tmp_path / "y.csv", [["", ""]], header="a,b")
    assert refused(r"no column 'text' .*There is: a, b", load, path).options == {}


def test_the_columns_that_seem_to_be_meant(tmp_path):
    rows = [[f"{n}", f"a longer text, the {n}th".replace(",", ""), "uv"[n % 2]] for n in range(9)]
    for header, text, label in (
        ("nr,ticket,kind", "ticket", "kind"),  # by what is in them
        ("x,body,category", "body", "category"),  # by usual names
        ("nr,txt,lable", "txt", "lable"),  # by almost the same names
    ):
        options = refused("no column", load, write(tmp_path / "x.csv", rows, header)).options
        assert (options["text_column"], options["label_column"]) == (text, label)
    path = write(tmp_path / "x.csv", rows, "nr,body,kind")
    caught = refused("no column", load, path, text_column="nr,bdy")
    assert caught.options["text_column"] == "nr,body"


def test_no_command_is_proposed_that_cannot_name_the_column(tmp_path, capsys):
    path = tmp_path / "x.csv"
    rows = [f"{n},a longer text number {n},{'uv'[n % 2]}" for n in range(9)]
    for name, option in (("the,body", "text"), ("a\x1bkind", "label")):
        header = f'nr,"{name}",label' if option == "text" else f"nr,text,{name}"
        path.write_text("\n".join([header, *rows]))
        assert main(["bench", "--data", str(path), "--plan"]) == 2
        said = capsys.readouterr().err
        assert said.count("has no column") == 1
        assert f"no column '{option}' (--{option}-column)" in said
        assert name not in said.partition("Corrected: ")[2]
    assert "Corrected" not in said  # an escape character cannot be copied


@pytest.mark.parametrize("header", ["id,Text,LABEL", "id, text ,Label"])
def test_a_column_whose_name_differs_in_case_only_is_read(tmp_path, header):
    rows = [[f"{n}", f"text {n}", "ab"[n % 2]] for n in range(8)]
    wanted, _ = load(write(tmp_path / "a.csv", rows, "id,text,label"))
    path = write(tmp_path / "b.csv", rows, header)
    corpus, notices = load(path)
    assert (corpus.train_texts, corpus.test_texts) == (wanted.train_texts, wanted.test_texts)
    assert any(f"{path}: column 'L" in n and "is read as 'label'" in n for n in notices)
    both = write(tmp_path / "c.csv", rows, "Text,TEXT,label")
    refused("no column 'text'", load, both)


def test_a_pipe_is_read_once(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"body,label\nx,a\ny,b\n")
    os.close(writing)
    caught = refused("no column 'text'", load, Path(f"/dev/fd/{reading}"), file_format="csv")
    os.close(reading)
    assert caught.options == {}


SPELLINGS = [
    ["\u00e9", "e\u0301"],
    ["Zurich", "Zürich", "ZÜRICH"],
    ["e mail", "email", "E Mail"],
    ["Кино", "кино"],
]


@pytest.mark.parametrize("labels", SPELLINGS)
def test_spellings_of_one_label_are_named_and_merged_when_asked_to(tmp_path, labels):
    first, *others = labels
    names = [*[first] * 9, *(label for label in others for _ in range(4)), *["other"] * 8]
    path = write(
        tmp_path / "x.csv", [[f"t {n}", name] for n, name in enumerate(names)], "text,label"
    )
    corpus, notices = load(path)
    assert set(corpus.label_names) == {*labels, "other"}
    (named,) = (n for n in notices if "--merge-labels makes one of them" in n)
    assert all(f"'{label}' (4)" in named for label in others)
    assert f"'{first}' (9)" in named
    merged, notices = load(path, merge_labels=True)
    assert set(merged.label_names) == {first, "other"}
    assert any("--merge-labels has made one of them" in n for n in notices)
    counts = [*merged.train_labels, *merged.test_labels].count(merged.label_names.index(first))
    assert counts == 9 + 4 * len(others)


def test_other_letters_are_other_labels(tmp_path):
    names = ["かき", "がき", "a-b", "a_b", "1", "01"] * 2  # kana with and without voicing marks
    path = write(
        tmp_path / "x.csv", [[f"t {n}", name] for n, name in enumerate(names)], "text,label"
    )
    corpus, notices = load(path)
    assert len(corpus.label_names) == 6
    assert not any("--merge-labels" in n for n in notices)


def test_a_spelling_that_only_test_has_is_mended_by_merging(tmp_path):
    rows = [[f"t {n}", "ab"[n % 2]] for n in range(8)]
    write(tmp_path / "train.csv", rows, "text,label")
    write(tmp_path / "test.csv", [["u 1", "A"], ["u 2", "b"]], "text,label")
    caught = refused(r"'a' \(4\) and 'A' \(1\); --merge-labels", load, tmp_path)
    assert caught.options == {"merge_labels": True}
    corpus, _ = load(tmp_path, merge_labels=True)
    assert corpus.test_labels == [0, 1]


def test_labels_that_a_model_tells_apart_are_never_merged():
    examples = [Example("a text", "neg"), Example("a text", " POS")]
    merged = spelled_as(examples, ["NEG", "pos"])
    assert [one.label for one in merged] == ["NEG", "pos"]
    says = r"--merge-labels cannot be used: .* tells 'NEG' from 'neg'"
    refused(says, spelled_as, examples, ["NEG", "POS", "neg", "pos"])
