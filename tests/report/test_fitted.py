"""The table of a run on a terminal: what fits, and what is always there."""

from __future__ import annotations

import re

import pytest
from example import run
from factory import cell, record

from zoo.report.run_report import RunReport
from zoo.report.tables.columns import table_text


def test_at_80_columns_there_are_name_score_speed_and_memory():
    table = RunReport(run())
    assert len(table_text(table).splitlines()[0]) > 80
    *lines, more = table_text(table, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    for head in ("attention", "pe", "accuracy", "train tok/s", "memory MiB"):
        assert head in lines[0]
    assert len(lines) == 2 + len(table.rows)
    whole = table_text(table).splitlines()[0]
    shown = lines[0]
    heads = ["rank", "seeds", "params", "× train", "infer tok/s", "× infer", "front"]
    heads += ["train s", "latency ms", "macro F1"]
    left_out = [head for head in heads if head in whole and head not in shown]
    assert more == f"({len(left_out)} columns more: --wide)"


@pytest.mark.parametrize("width", range(20, 260, 40))
def test_no_line_is_wider_than_the_terminal_once_the_main_columns_fit(width):
    table = RunReport(run())
    narrowest = max(map(len, table_text(table, width=1).splitlines()))
    assert max(map(len, table_text(table, width=width).splitlines())) <= max(width, narrowest)


def test_a_wide_terminal_and_a_pipe_have_everything():
    table = RunReport(run())
    assert table_text(table, width=400) == table_text(table, width=None) == table_text(table)


def test_a_long_reason_is_cut_to_make_room():
    lost = record("train", "lost", reason="its machine went " * 20, seed=0, cell=cell(pe="alibi"))
    lines = table_text(RunReport([*run(), lost]), width=110).splitlines()
    assert max(map(len, lines)) <= 110
    (line,) = (line for line in lines if "alibi" in line)
    assert re.search(r"lost: .{10,18}…", line)
