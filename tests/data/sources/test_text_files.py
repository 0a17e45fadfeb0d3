"""Texts from files: lines and tables, read only as far as they are asked for."""

from __future__ import annotations

import itertools
import json

import pytest
from refused import refused

from zoo.config.reading import Reading
from zoo.data.sources.load_data import read_texts

TEXTS = ["plain", 'a "quoted", one', "a line\u2028and a half", "null", "007", "naïve 東京"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines.txt", "".join(f"{text}\r\n" for text in TEXTS)),
        ("rows.jsonl", "".join(json.dumps({"text": text}) + "\n\n" for text in TEXTS)),
    ],
)
def test_lines_and_tables_give_the_same_texts(tmp_path, name, content):
    (tmp_path / name).write_text(content, newline="")
    assert list(read_texts(str(tmp_path / name))) == TEXTS


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("gap.txt", b"one\n\ntwo\n", "gap.txt, line 2 is empty"),
        ("gap.jsonl", b'{"text": "x"}\n\n{"text": " "}\n', "gap.jsonl, line 3: 'text' is empty"),
        ("latin.txt", b"one\nna\xefve\n", "latin.txt is not UTF-8: byte 0xef in line 2"),
        ("a.jsonl", b'{"text": "x"}\n{"body": "x"}\n', "a.jsonl, line 2: 'text' is missing"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', "a.jsonl, line 1: 'text' holds half a character"),
        ("a.txt", None, "a.txt cannot be read: No such file"),
        ("a.jsonl", None, "a.jsonl cannot be read: No such file"),
    ],
)
def test_a_text_that_cannot_be_read_is_named_with_its_place(tmp_path, name, content, complaint):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    refused(complaint, read_texts, str(tmp_path / name), reading=Reading(encoding="utf-8"))


def test_lines_are_read_only_as_far_as_asked(tmp_path):
    path = tmp_path / "many.txt"
    lines = "".join(f"text {number}\n" for number in range(100_000))
    # Reading to the end would meet a byte that is not UTF-8.
    path.write_bytes(lines.encode() + b"\xff\n")
    texts = read_texts(str(path), reading=Reading(encoding="utf-8"))
    assert list(itertools.islice(texts, 3)) == ["text 0", "text 1", "text 2"]
    refused("not UTF-8: byte 0xff in line 100001", list, texts)


def test_a_directory_has_a_text_in_every_file(tmp_path):
    folder = tmp_path / "mails"
    (folder / "spam").mkdir(parents=True)
    (folder / "spam" / "b").write_bytes("na\u00efve\n\nand more".encode("latin-1"))
    (folder / "spam" / "a").write_text("first")
    assert list(read_texts(str(folder))) == ["first", "na\u00efve\n\nand more"]
    (folder / "one.txt").write_text("alone")
    (folder / ".hidden").write_text("not this")
    (folder / "spam" / "deep").mkdir()
    (folder / "spam" / "deep" / "c.txt").write_text("last")
    texts = ["alone", "first", "na\u00efve\n\nand more", "last"]
    assert list(read_texts(str(folder))) == texts
    says = "--text-column: for tables, and of .*mails every file is"
    refused(says, read_texts, str(folder), "body")
    (folder / "empty.txt").write_text(" ")
    refused(r"mails, empty.txt: 'text' is empty", read_texts, str(folder))
    assert list(read_texts(str(folder), reading=Reading(drop_bad_rows=True))) == texts


def test_options_of_tables_are_refused_where_there_is_none(tmp_path):
    (tmp_path / "a.txt").write_text("one line\n")
    says = "for tables, and of .*a.txt every line is"
    refused(f"--text-column: {says}", read_texts, str(tmp_path / "a.txt"), "body")
    says = "--no-header: for tables, and of stdin every line is"
    refused(says, read_texts, "-", reading=Reading(header=False))
    with_columns = Reading(delimiter=" ", header=False)
    assert list(read_texts(str(tmp_path / "a.txt"), "2", reading=with_columns)) == ["line"]
