"""Texts from files: every format gives the same texts, read only as far as they are asked for."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import pytest

from zoo.config.reading import Reading
from zoo.data.sources.load_data import read_texts
from zoo.errors import ZooError

TEXTS = ["plain", 'a "quoted", one', "a line\u2028and a half", "null", "007", "naïve 東京"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lines.txt").write_text("".join(f"{text}\r\n" for text in TEXTS), newline="")
    for name, separator in (("rows.csv", ","), ("rows.tsv", "\t")):
        with (tmp_path / name).open("w", newline="") as file:
            rows = [["id", "text"], *([i, text] for i, text in enumerate(TEXTS))]
            csv.writer(file, delimiter=separator).writerows(rows)
    rows = "".join(json.dumps({"text": text}) + "\n\n" for text in TEXTS)
    (tmp_path / "rows.jsonl").write_text(rows)
    return tmp_path


@pytest.mark.parametrize("name", ["lines.txt", "rows.csv", "rows.tsv", "rows.jsonl"])
def test_every_format_gives_the_same_texts(folder: Path, name: str) -> None:
    assert list(read_texts(str(folder / name))) == TEXTS


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("gap.txt", b"one\n\ntwo\n", "gap.txt, line 2 is empty"),
        ("short.csv", b"id,text\n1,one\n2\n", "short.csv, line 3: 'text' is empty"),
        ("gap.jsonl", b'{"text": "x"}\n\n{"text": " "}\n', "gap.jsonl, line 3: 'text' is empty"),
        ("latin.csv", b"text\none\nna\xefve\n", "latin.csv is not UTF-8: byte 0xef in line 3"),
        ("latin.txt", b"one\nna\xefve\n", "latin.txt is not UTF-8: byte 0xef in line 2"),
        ("a.jsonl", b'{"text": "x"}\n{"body": "x"}\n', "a.jsonl, line 2: 'text' is missing"),
        ("a.txt", None, "a.txt cannot be read: No such file"),
        ("a.jsonl", None, "a.jsonl cannot be read: No such file"),
    ],
)
def test_a_text_that_cannot_be_read_is_named_with_its_place(
    tmp_path: Path, name: str, content: bytes | None, complaint: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ZooError, match=complaint):
        list(read_texts(str(tmp_path / name), reading=Reading(encoding="utf-8")))


def test_lines_are_read_only_as_far_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    lines = "".join(f"text {number}\n" for number in range(100_000))
    # Reading to the end would meet a byte that is not UTF-8.
    path.write_bytes(lines.encode() + b"\xff\n")
    texts = read_texts(str(path), reading=Reading(encoding="utf-8"))
    assert list(itertools.islice(texts, 3)) == ["text 0", "text 1", "text 2"]
    with pytest.raises(ZooError, match="not UTF-8: byte 0xff in line 100001"):
        list(texts)


def test_a_directory_has_a_text_in_every_file(tmp_path: Path) -> None:
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
    with pytest.raises(ZooError, match=r"--text-column: for tables, and of .*mails every file is"):
        list(read_texts(str(folder), "body"))
    (folder / "empty.txt").write_text(" ")
    with pytest.raises(ZooError, match=r"mails, empty.txt: 'text' is empty"):
        list(read_texts(str(folder)))
    assert list(read_texts(str(folder), reading=Reading(drop_bad_rows=True))) == texts


def test_half_a_character_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n{"text": "\\ud800"}\n')
    with pytest.raises(ZooError, match=r"a.jsonl, line 2: 'text' holds half a character"):
        list(read_texts(str(tmp_path / "a.jsonl")))
    left = Reading(drop_bad_rows=True)
    assert list(read_texts(str(tmp_path / "a.jsonl"), reading=left)) == ["x"]


def test_options_of_tables_are_refused_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one line\n")
    with pytest.raises(ZooError, match=r"--text-column: for tables, and of .*a.txt every line is"):
        list(read_texts(str(tmp_path / "a.txt"), "body"))
    with pytest.raises(ZooError, match=r"--no-header: for tables, and of stdin every line is"):
        list(read_texts("-", reading=Reading(header=False)))
    with_columns = Reading(delimiter=" ", header=False)
    assert list(read_texts(str(tmp_path / "a.txt"), "2", reading=with_columns)) == ["line"]
