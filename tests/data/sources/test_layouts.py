"""Files are read as they come: each of ``tests/data/files`` gives the rows in ``layouts.toml``."""

import csv
import io
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import read, rows, rows_of
from refused import refused

from zoo.data.sources.row_reader import UnlabelledTexts
from zoo.data.sources.tables import decode, delimited

FILES = Path(__file__).parents[1] / "files"
LAYOUTS = tomllib.loads((FILES / "layouts.toml").read_text(encoding="utf-8"))
quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def layout_of(name: str) -> dict[str, Any]:
    layout = LAYOUTS[name]
    return {**layout_of(layout["same_as"]), **layout} if "same_as" in layout else layout


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_file_gives_its_rows(name):
    layout = layout_of(name)
    tagged = layout.get("tagged", False)
    examples = rows_of(FILES / name, tagged=tagged, **layout.get("options", {}))
    if tagged:  # TOML has no null
        examples = [(tokens, [tag or "" for tag in tags]) for tokens, tags in examples]
    assert [list(row) for row in examples] == layout["rows"]


def test_every_file_is_in_the_table():
    assert {path.name for path in FILES.iterdir()} == {*LAYOUTS, "layouts.toml"}


@pytest.fixture(scope="module")
def opened() -> list[str]:
    """The path of every file that is opened from now on."""
    paths: list[str] = []
    sys.addaudithook(lambda event, of: paths.append(str(of[0])) if event == "open" else None)
    return paths


@pytest.mark.parametrize(
    "name", ["rows.csv", "packed.csv.gz", "packed.csv.zip", "rows.jsonl", "rows.parquet"]
)
def test_a_file_is_opened_once(opened, name):
    opened.clear()
    rows_of(FILES / name)
    assert opened.count(str(FILES / name)) == 1


def test_a_pipe_is_read_as_a_file():
    reading, writing = os.pipe()
    os.write(writing, rows().encode())
    os.close(writing)
    assert len(rows_of(Path(f"/dev/fd/{reading}"), file_format="csv")) == 8
    os.close(reading)


def test_labels_that_are_numbers_go_by_their_values_and_take_their_names(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,label\n" + "".join(f"t {n},{(1, 10, 2)[n % 3]}\n" for n in range(12)))
    assert read(path)[0].label_names == ["1", "2", "10"]
    lines = [f"t {n},{(1, 10)[n % 2]},{('low', 'high')[n % 2]}\n" for n in range(8)]
    path.write_text("text,label,label_text\n" + "".join(lines))
    assert read(path)[0].label_names == ["low", "high"]


CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0\r") | st.sampled_from('\\",')
CELLS = st.text(CHARACTERS, max_size=8)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(CELLS, min_size=width, max_size=width).filter(any), min_size=1, max_size=6
    )
)


@quick
@given(TABLES, st.sampled_from([",", "\t", ";"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_whatever_the_csv_module_writes_comes_back(table, delimiter, end, escape):
    written = io.StringIO()
    how = {"doublequote": False, "escapechar": "\\"} if escape else {}
    csv.writer(written, delimiter=delimiter, lineterminator=end, **how).writerows(table)
    text = written.getvalue()
    made = delimited("x", text, delimiter, header=False, escape=escape).rows
    assert [list(row.values()) for row in made.values()] == table
    starts = [int(place.removeprefix("line ")) for place in made]
    assert starts == sorted(starts)
    assert (starts[0], starts[-1] <= text.count("\n")) == (1, True)


def test_a_backslash_escapes_a_quote_where_asked(tmp_path):
    path = tmp_path / "spark.csv"
    path.write_text("text,label\n" + '"he said \\"no, it is\\" in C:\\dir",a\n"x",b\n' * 4)
    assert rows_of(path, escape=True)[:2] == [('he said "no, it is" in C:\\dir', "a"), ("x", "b")]
    path.write_text(rows() + '"the \\oh\\""",a\n')
    assert rows_of(path)[-1] == ('the \\oh\\"', "a")


def test_a_backslash_escapes_a_delimiter_where_asked(tmp_path):
    """As MySQL and Hive write fields without quotes."""
    path = tmp_path / "mysql.csv"
    path.write_text("text,label\n" + "one\\, two,a\nx\\y,b\n" * 4)
    assert rows_of(path, escape=True)[:2] == [("one, two", "a"), (r"x\y", "b")]
    path.write_text("text,label\na,\\N\n")
    refused("line 2: 'label' is missing", read, path, escape=True)
    path.write_text('text,label\n"dir\\",a\n')
    refused("line 2: a quoted field is broken", read, path, escape=True)


@quick
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=200))
def test_utf_8_comes_back(text):
    assert decode("x", text.encode()) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Die schönen Häuser stehen größtenteils in der Straße über dem Fluß.\n", "cp1252"),
        ("Привет, как дела? Сегодня хорошая погода, и мы идём гулять.\n", "cp1251"),
        ("今日は天気がいいです。東京に行きました。\n", "shift_jis"),
    ],
)
def test_a_file_in_another_encoding_is_refused_with_the_likely_one(text, encoding):
    content = (text * 3).encode(encoding)
    says = r"x is not UTF-8: byte 0x.. in line 1; if it is (\S+), say --encoding \1"
    caught = refused(says, decode, "x", content)
    named = str(caught).rpartition(" ")[2]
    assert decode("x", content, named)
    assert decode("x", content, encoding) == text * 3


@pytest.mark.parametrize(
    ("content", "encoding", "says"),
    [
        (b"one\nna\xefve\n", "utf-8", "x is not UTF-8: byte 0xef in line 2"),
        (b"one\nna\xefve\n", "ascii", "x is not ascii: byte 0xef in line 2"),
        (b"one\ntw\0o\n", "", "x holds a NUL byte in line 2: it is damaged, or no text"),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_their_line(content, encoding, says):
    refused(says, decode, "x", content, encoding)


def texts_of(path: Path, **options: Any) -> list[Any]:
    """The texts to predict of a file."""
    chosen = UnlabelledTexts(**options)
    return list(chosen.examples(chosen.tables(path))[0].texts)


def test_texts_are_lines_cells_or_files(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("one\r\ntwo\u2028half\r\n", newline="")
    assert texts_of(lines) == ["one", "two\u2028half"]
    assert texts_of(FILES / "rows.jsonl") == [text for text, _ in layout_of("rows.jsonl")["rows"]]
    titles = texts_of(FILES / "ag_news.csv", text_column="2,3", header=False)
    assert titles[1:] == ["Chip, maker\nIntel's #39;s profit, up 5%", "Polls open; queues"]
    assert texts_of(FILES / "folders") == [
        "alt.x text 1", "alt.x text 2", "sci.y text 1", "sci.y text 2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "column", "complaint"),
    [
        ("latin.txt", b"one\nna\xefve\n", "text", "latin.txt is not UTF-8: byte 0xef in line 2"),
        ("a.jsonl", b'{"text": "x"}\n{"body": "x"}\n', "text", "line 2: 'text' is missing"),
        ("a.csv", b"body\nx\n", "text", r"no column 'text' \(--text-column\).*There is: body"),
        ("a.txt", b"one line\n", "body", "no column 'body'.*There is: text"),
        ("a.txt", b"", "text", "a.txt is empty: it has no rows"),
        ("a.txt", None, "text", "a.txt cannot be read: No such file"),
    ],
)
def test_a_text_that_cannot_be_read_is_named_with_its_place(
    tmp_path, name, content, column, complaint
):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    refused(complaint, texts_of, tmp_path / name, text_column=column)


def test_empty_lines_are_left_out_where_asked(tmp_path):
    path = tmp_path / "gap.txt"
    path.write_text("one\n\ntwo\n")
    chosen = UnlabelledTexts(drop_bad_rows=True)
    examples, notices = chosen.examples(chosen.tables(path))
    assert examples.texts == ["one", "two"]
    assert notices == ["gap.txt, line 2: 'text' is empty; left out"]
