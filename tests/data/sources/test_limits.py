"""What is refused of a user's files before it costs minutes: sizes, pipes, links, NUL bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from reading import read, rows, texts_of
from refused import refused

from zoo.config.reading import Reading, TextReading
from zoo.data.sources import text_file
from zoo.data.sources.labelled_texts import LabelledTexts
from zoo.data.sources.load_data import load_pairs, load_texts, read_texts
from zoo.data.sources.tagged_texts import TaggedTexts
from zoo.registry import Registry

LONG = "word " * 20_000  # 98 KiB: longer than 64 KiB, a sixteenth of the limit of 1 MiB
LINES = "several words\n" * 7_000
ONE = Reading(size_limit=1)
TOO_LONG = "has 0.1 MiB; the limit is 0.0625 MiB, and --size-limit 2 allows it"
TABLES = {
    "x.csv": (f"{rows()}{LONG},a\n", "line 10"),
    "quoted.csv": (f'{rows()}"{LINES}",a\n', "line 10"),
    "x.tsv": (f"text\tlabel\nx\ta\n{LONG}\ta\n", "line 3"),
    "x.jsonl": ('{"text": "x", "label": 1}\n' + json.dumps({"text": LONG, "label": 2}), "line 2"),
    "x.json": (json.dumps([{"text": "x", "label": 1}, {"text": LONG, "label": 2}]), "row 2"),
    "x.label": (f"a:b x\nb:c {LONG}\n", "line 2"),
}


@pytest.mark.parametrize("name", TABLES)
def test_too_long_a_line_or_text_of_a_table_is_named_with_the_limit(tmp_path, name):
    content, place = TABLES[name]
    path = tmp_path / name
    path.write_text(content)
    says = f"{name}, {place} {TOO_LONG}"
    refused(says, texts_of, path, size_limit=1)
    form = {"file_format": "label-text"} if name == "x.label" else {}
    refused(says, read_texts, str(path), reading=Reading(size_limit=1, **form))
    for allowed in (2, 0):
        assert len(texts_of(path, size_limit=allowed)[-1][0]) > 90_000


def test_too_long_a_text_of_parquet_or_of_a_directory_is_refused(tmp_path):
    import pyarrow as arrow
    import pyarrow.parquet

    path = tmp_path / "x.parquet"
    table = arrow.table({"text": ["x", "y", LONG], "label": ["a", "b", "a"]})
    pyarrow.parquet.write_table(table, path)
    refused(f"x.parquet, row 3 {TOO_LONG}", texts_of, path, size_limit=1)
    kept = texts_of(path, size_limit=1, drop_bad_rows=True)
    assert kept == [("x", "a"), ("y", "b")]  # it is a row like others that cannot be used
    for label in ("a", "b"):
        (tmp_path / "folder" / label).mkdir(parents=True)
        (tmp_path / "folder" / label / "x.txt").write_text(LINES if label == "b" else "x")
    refused(f"folder, b/x.txt {TOO_LONG}", texts_of, tmp_path / "folder", size_limit=1)


def test_every_other_way_to_give_texts_has_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "x.txt"
    path.write_text(f"one\n{LONG}\n")
    says = f"x.txt, line 2 {TOO_LONG}"
    refused(says, read_texts, str(path), reading=ONE)
    refused(says, load_texts, Registry(), str(path), LabelledTexts(reading=ONE))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    refused(f"stdin, line 2 {TOO_LONG}", read_texts, "-", reading=ONE)
    path.write_text(f"a\tb\n{LONG}\tc\n")
    refused(says, load_pairs, str(path), Registry(), TextReading(size_limit=1))
    conll = tmp_path / "x.conll"
    conll.write_text("a O\n\nb B\n\n" + "a O\n" * 20_000)
    says = "x.conll, the text from line 5 has 0.1 MiB; the limit"
    refused(says, TaggedTexts(reading=ONE).read, conll, name="x")


@pytest.mark.parametrize("ending", ["zip", "gz", "bz2", "xz"])
def test_a_packed_file_is_not_unpacked_beyond_the_limit(tmp_path, ending):
    path = tmp_path / f"train.csv.{ending}"
    content = (rows() + f"{'a text ' * 7_000},a\n" * 47).encode()
    says = "has more than 1 MiB, the limit; a larger --size-limit allows it"
    if ending == "zip":
        says = "/train.csv has 2.2 MiB; the limit is 1 MiB, and --size-limit 3 allows it"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("train.csv", content)
    else:
        {"gz": gzip, "bz2": bz2, "xz": lzma}[ending].open(path, "wb").write(content)
    refused(says, read, path, size_limit=1)
    assert len(texts_of(path, size_limit=3)) == 55


def test_a_line_of_forty_megabytes_is_refused_at_once(tmp_path, refused_command):
    path = tmp_path / "x.csv"
    path.write_bytes(rows().encode() + b"x" * 40_000_000 + b",a\n")
    before = time.process_time()
    line = refused_command("bench", "--data", path, "--out", tmp_path / "out")
    assert "x.csv, line 10 has 38.1 MiB; the limit is 16 MiB, and --size-limit 611" in line
    assert time.process_time() - before < 20  # seconds; what is quadratic takes minutes


def test_a_named_pipe_is_waited_for_with_a_word(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "PATIENCE", 0.1)
    path = tmp_path / "x.csv"
    os.mkfifo(path)
    for read_it in (texts_of, lambda path: list(read_texts(str(path)))):
        shown, end = io.StringIO(), time.monotonic() + 60
        monkeypatch.setattr("sys.stderr", shown)
        with ThreadPoolExecutor() as pool:
            found = pool.submit(read_it, path)
            while not shown.getvalue() and time.monotonic() < end:
                time.sleep(0.01)
            path.write_text(rows(4))
            assert len(found.result()) == 4
        assert f"waiting for what writes to {path} to be done; Ctrl-C" in shown.getvalue()


def test_a_link_that_leads_out_of_a_directory_is_followed_only_when_asked(tmp_path):
    data, outside = tmp_path / "data", tmp_path / "secret.csv"
    data.mkdir()
    outside.write_text(rows())
    (data / "train.csv").symlink_to(outside)
    says = f"{data}/train.csv is a link to {outside}, outside {data}; --follow-links reads what"
    refused(says, read, data)
    assert len(texts_of(data, follow_links=True)) == 8
    (data / "train.csv").rename(data / "a-link.csv")
    (data / "real.csv").write_text(rows())
    (data / "train.csv").symlink_to("real.csv")  # within the directory
    assert len(texts_of(data)) == 8

    folder = tmp_path / "folder"
    for label in ("a", "b"):
        (folder / label).mkdir(parents=True)
        (folder / label / "x.txt").write_text("x")
    (folder / "b" / "y.txt").symlink_to(outside)
    refused(r"folder/b/y.txt is a link to .*secret.csv, outside", texts_of, folder)
    refused(r"folder/b/y.txt is a link to .*secret.csv, outside", read_texts, str(folder))
    assert len(texts_of(folder, follow_links=True)) == 3
    (folder / "b" / "again").symlink_to(folder)
    says = "again is a link to .*folder, which it is in"
    refused(says, read_texts, str(folder), reading=Reading(follow_links=True))


@pytest.mark.parametrize("content", [b"\0", b"\0\0\0\0", b"text,label\na\0,x\nb,y\n"])
def test_nul_bytes_are_called_that(tmp_path, content):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    refused(r"x.csv holds \d NUL bytes?, (the first )?in line [12]: it", read, path)
    refused(r"x.csv holds", read_texts, str(path), "1", reading=Reading(file_format="auto"))
    (tmp_path / "x.jsonl").write_bytes(b'{"text": "a\0b", "label": 1}\n')
    refused(r"x.jsonl holds 1 NUL byte, in line 1", read, tmp_path / "x.jsonl")
