"""Text from records in Markdown tables: it stays in its cell and is not markup."""

import re

from example import run
from factory import cell, failed, skipped

from bench.publish.markdown import code, grid
from zoo.report.run_report import RunReport
from zoo.report.tables.text import line
from zoo.report.write import write_tables

HOSTILE = "a|b <img src=x>\n| --- | c\\|d &lt; `e"
SHOWN = r"a\|b \<img src=x\> \| --- \| c\\\|d \&lt; \`e"


def tables(text):
    """Of each table its rows, split as GitHub splits them: at every pipe without a backslash."""
    tables = re.findall(r"(?m)(?:^\|.*\n)+", text + "\n")
    return [[re.split(r"(?<!\\)(?:\\\\)*\|", row)[1:-1] for row in t.splitlines()] for t in tables]


def hostile():
    return [*run(), skipped(cell(attention=HOSTILE), HOSTILE), failed(cell(pe="sin"), 9)]


def sound(text):
    assert tables(text)
    for rows in tables(text):
        assert len({len(row) for row in rows}) == 1, "each row has as many cells as the head"
    assert not re.search(r"(?<!\\)<img", re.sub(r"(`+).*?\1", "", text))


def test_one_line_of_escapes_and_code_that_holds_backticks():
    assert line(HOSTILE) == SHOWN
    assert code("rope") == "`rope`"
    assert code("a`b") == "`` a`b ``"
    assert grid([{"row": code("a|b")}]).splitlines()[-1] == r"| `a\|b` |"


def test_the_table_file_keeps_its_columns(tmp_path):
    write_tables(RunReport(hostile()), tmp_path)
    text = (tmp_path / "table.md").read_text()
    sound(text)
    assert f"| {SHOWN[:40]}" in text
