"""The table on a terminal: what fits, and what is always there; and for a paper: valid LaTeX."""

import re
import shutil
import subprocess

import pytest
from example import run
from factory import cell, record, skipped, train_record

from zoo.report.run_report import RunReport
from zoo.report.tables.columns import latex_table, table_text


def test_at_80_columns_there_are_name_score_speed_and_memory(report):
    whole = table_text(report).splitlines()[0]
    assert len(whole) > 80
    *lines, more = table_text(report, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    for head in ("attention", "pe", "accuracy", "train tok/s", "memory MiB"):
        assert head in lines[0]
    assert len(lines) == 2 + len(report.rows)
    heads = ["rank", "seeds", "params", "× train", "infer tok/s", "× infer", "front"]
    heads += ["train s", "latency ms", "macro F1"]
    left_out = [head for head in heads if head in whole and head not in lines[0]]
    assert more == f"({len(left_out)} columns more: --wide)"


def test_no_line_is_wider_than_the_terminal_once_the_main_columns_fit(report):
    narrowest = max(map(len, table_text(report, width=1).splitlines()))
    for width in range(20, 260, 40):
        assert max(map(len, table_text(report, width=width).splitlines())) <= max(width, narrowest)
    assert table_text(report, width=400) == table_text(report, width=None) == table_text(report)


def test_intervals_of_ratios_stand_where_there_is_room_for_all(report):
    """On a terminal; a table in Markdown has numbers alone."""
    wide = table_text(report)
    width = max(map(len, wide.splitlines()))
    low, high = report.lines[2]["train_ratio_low"], report.lines[2]["train_ratio_high"]
    interval = f" ({low:.2f} to {high:.2f})"
    assert interval in wide
    assert table_text(report, width=width) == wide
    for narrow in (table_text(report, width=width - 1), table_text(report, "github")):
        assert interval not in narrow
        assert "× infer" in narrow


def test_a_long_reason_is_cut_to_make_room():
    lost = record("train", "lost", reason="its machine went " * 20, seed=0, cell=cell(pe="alibi"))
    lines = table_text(RunReport([*run(), lost]), width=110).splitlines()
    assert max(map(len, lines)) <= 110
    (line,) = (line for line in lines if "alibi" in line)
    assert re.search(r"lost: .{10,18}…", line)


HOSTILE = "50%_of $x$ & \\input{x} #1 ~^ {<b>}\nnext \u202e"


def latex(records):
    return latex_table(RunReport(records))


def body(text):
    """The rows between the rules, each split at its unescaped &."""
    inside = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    return [re.split(r"(?<!\\)&", line) for line in inside.splitlines()[1:]]


def test_every_row_and_column_of_the_readable_table_is_there(report):
    text, shown = latex_table(report), report.shown
    rows = body(text)
    assert [len(row) for row in rows] == [len(shown.columns)] * len(shown)
    assert all(row[-1].rstrip().endswith(r"\\") for row in rows)
    for row, values in zip(rows, shown.values.tolist(), strict=True):
        texts = [part.strip().removesuffix(r"\\").strip() for part in row]
        assert [text.replace(r"\textasciitilde{}", "~") for text in texts] == values
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"):
        assert text.count(rule) == 1


def test_names_cannot_be_commands():
    records = [*run(), skipped(cell(attention=HOSTILE), HOSTILE), train_record("[2cm]", 0, 5)]
    text = latex(records)
    rows = body(text)
    assert len({len(row) for row in rows}) == 1, "an & of a name would be a column"
    shown = r"50\%\_of \$x\$ \& \textbackslash{}input\{x\} \#1"
    assert sum(shown in "&".join(row) for row in rows) == 1
    assert "\u202e" not in text, "nor change the direction of the row"
    assert not re.search(r"(?m)^\s*\[", text), r"after \\ a bracket is a length"


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
