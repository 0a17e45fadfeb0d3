"""Tables of text: delimiters, quotes, columns that are joined, and rows that are broken."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import read, rows, texts_of
from refused import refused

from zoo.data.sources.tables import delimited_rows

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)


TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(CELLS, min_size=width, max_size=width).filter(any), min_size=1, max_size=6
    )
)


@quick
@given(TABLES, st.sampled_from([",", "\t", ";", "|"]), st.sampled_from(["\n", "\r\n"]))
def test_whatever_the_csv_module_writes_comes_back(table, delimiter, end):
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator=end).writerows(table)
    text = written.getvalue()
    found = list(delimited_rows("x", text, delimiter, [], header=False))
    expected = [dict(zip(map(str, range(1, 5)), row, strict=False)) for row in table]
    assert [row for _, row in found] == expected
    starts = [int(place.removeprefix("line ")) for place, _ in found]
    assert starts == sorted(starts)
    assert starts[0] == 1
    assert starts[-1] <= text.count("\n")


@quick
@given(st.lists(st.text("ab\"' ,é", min_size=1).filter(str.strip), min_size=1, max_size=8))
def test_without_quotes_every_line_is_a_row(texts):
    lines = "".join(f"x\t{text}\n" for text in texts)
    found = delimited_rows("x", lines, "\t", [], header=False, quotes=False)
    assert [row for _, row in found] == [{"1": "x", "2": text} for text in texts]


@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
def test_the_delimiter_of_a_csv_file_is_guessed_from_its_lines(tmp_path, delimiter):
    path = tmp_path / "x.csv"
    path.write_text(rows().replace(",", delimiter))
    corpus, notices = read(path)
    assert len(corpus.train_texts) == 6
    assert "which is a guess; --delimiter reads it otherwise" in notices[0]
    assert read(path, delimiter=delimiter)[1] == notices[1:]


def test_a_delimiter_is_a_character_or_its_name(tmp_path):
    path = tmp_path / "x.dat"
    path.write_text(rows().replace(",", "\t"))
    for given_as in ("\t", "\\t", "tab"):
        assert len(texts_of(path, delimiter=given_as)) == 8
    refused("--delimiter '::': expected one character, or one of tab,", read, path, delimiter="::")


def test_columns_that_are_joined_may_be_empty_but_not_all(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("title,body,label\none,two,a\n,three,b\n,,a\n")
    refused("line 4: 'title' and 'body' are empty", read, path, text_column="title,body")
    found = texts_of(path, text_column="title,body", drop_bad_rows=True)
    assert found == [("one\ntwo", "a"), ("three", "b")]
    refused(r"no column 'text' \(--text-column\)", read, path, text_column="title,text")


def test_a_header_without_some_names_or_with_one_twice(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("label,text,,text\n" + "a,one,,two\nb,three,,four\n" * 2)
    both = [("one\ntwo", "a"), ("three\nfour", "b")] * 2
    assert texts_of(path, text_column="text,text.4") == both
    assert texts_of(path) == [("one", "a"), ("three", "b")] * 2
    notices = " ".join(read(path)[1])
    assert "a second column 'text', which is called 'text.4' here" in notices


def test_a_warning_where_a_quoted_field_swallows_rows(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(rows() + 'one,a\n"two,b\nthree,a\nfour "x" here,b\n')
    assert any(
        "lines 11 to 13: one quoted field goes over 3 lines and seems to have swallowed rows; if "
        "quotes are plain characters in this file, say --no-quotes" in notice
        for notice in read(path, drop_bad_rows=True)[1]
    )
    path.write_text("label,text\n" + 'a,one\nb,two\na,"three\nb,four"\n' * 4)
    assert any("lines 4 to 5: one quoted field goes over 2 lines" in n for n in read(path)[1])
    path.write_text(rows() + '"a text, of two\nlines, with ""commas"", here",a\nlast,b\n')
    assert len(read(path)[1]) == 1  # a field of several lines is nothing odd
    path.write_text(rows() + '"no end,a\nlast,b\n')
    refused(r"x.csv, line 10: a quoted field has no end; if quotes are", read, path)
    assert len(texts_of(path, quotes=False)) == 10


def test_broken_rows_are_left_out_where_asked_counted_and_named(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(rows() + "one,a,more\n ,b\nlast,\nfine,b\n")
    refused("line 10 has more fields than its header: 3 fields, where", read, path)
    corpus, notices = read(path, drop_bad_rows=True)
    for said in (
        "line 10 has more fields than its header: 3 fields, where its header has 2; left out",
        "line 11: 'text' is empty; left out",
        "line 12: 'label' is missing; left out",
    ):
        assert any(notice.endswith(said) for notice in notices)
        assert said in corpus.notes["reading"]
    assert len(corpus.train_texts) + len(corpus.test_texts) == 9
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"text": "a", "label": 1}\n{"text":\n{"text": 3, "label": 1}\n[]\n')
    assert texts_of(lines, drop_bad_rows=True) == [("a", "1")]
    lines.write_text('{"text":\n')
    refused(r"x.jsonl is empty|no row can be used", read, lines, drop_bad_rows=True)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("x.parquet", {"delimiter": ";"}, "--delimiter: for tables of text, and .* is parquet"),
        ("x.parquet", {"encoding": "latin-1"}, "--encoding: for text, and .* is parquet"),
        ("x.jsonl", {"header": False}, "--no-header: for tables of text, and .* is jsonl"),
        ("x.jsonl", {"quotes": False}, "--no-quotes: for tables of text, and .* is jsonl"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused(tmp_path, name, options, says):
    frame = pd.DataFrame({"text": ["a", "b"] * 4, "label": [0, 1] * 4})
    path = tmp_path / name
    if name.endswith("parquet"):
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    refused(says, read, path, **options)
