"""The table for a paper: valid LaTeX, and typeset by it where LaTeX is installed."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from example import run
from factory import cell, readable, skipped, train_record

from zoo.report.run_report import RunReport
from zoo.report.tables.columns import latex_table

HOSTILE = "50%_of $x$ & \\input{x} #1 ~^ {<b>}\nnext"


def latex(records):
    return latex_table(RunReport(records))


def body(text):
    """The rows between the rules, each split at its unescaped &."""
    inside = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    return [re.split(r"(?<!\\)&", line) for line in inside.splitlines()[1:]]


def test_every_row_and_column_of_the_readable_table_is_there():
    text, shown = latex(run()), readable(run())
    rows = body(text)
    assert [len(row) for row in rows] == [len(shown.columns)] * len(shown)
    assert all(row[-1].rstrip().endswith(r"\\") for row in rows)
    for row, values in zip(rows, shown.values.tolist(), strict=True):
        assert [part.strip().removesuffix(r"\\").strip() for part in row] == values
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"):
        assert text.count(rule) == 1


def test_names_cannot_be_commands():
    records = [*run(), skipped(cell(attention=HOSTILE), HOSTILE), train_record("[2cm]", 0, 5)]
    text = latex(records)
    rows = body(text)
    assert len({len(row) for row in rows}) == 1, "an & of a name would be a column"
    shown = r"50\%\_of \$x\$ \& \textbackslash{}input\{x\} \#1"
    assert sum(shown in "&".join(row) for row in rows) == 1
    assert not re.search(r"(?m)^\s*\[", text), r"after \\ a bracket is a length"


def test_names_cannot_change_the_direction_of_the_row():
    turning = "abc\u202edef\u2066"
    text = latex([*run(), skipped(cell(attention=turning), turning)])
    assert "\u202e" not in text
    assert "\u2066" not in text
    assert r"abc\textbackslash{}u202edef\textbackslash{}u2066" in text


def test_notes_are_comments_whatever_they_contain():
    report = RunReport(run())
    report.notes.append("one\n\\input{two}")
    text = latex_table(report)
    before = text[: text.index(r"\begin{tabular}")].splitlines()
    assert all(line.startswith("%") for line in before)
    assert "% one \\input{two}" in before


@pytest.mark.skipif(not shutil.which("xelatex"), reason="no xelatex here")
def test_latex_typesets_it(tmp_path):
    text = latex([*run(), skipped(cell(attention=HOSTILE), HOSTILE), train_record("[2cm]", 0, 5)])
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    document = r"\documentclass{article}\usepackage{booktabs}\begin{document}\input{table}"
    (tmp_path / "paper.tex").write_text(document + r"\end{document}", encoding="utf-8")
    command = ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "paper.pdf").exists()
