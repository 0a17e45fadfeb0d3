"""The table: what its columns hold, its order, its ties, and what fits on a terminal."""

import io
import re

import pandas as pd
import pytest
from example import REFERENCE, run
from factory import (
    caption,
    cell,
    cost_record,
    make_table,
    readable,
    shown_table,
    skipped,
    train_record,
)

from zoo.report.run_report import RunReport
from zoo.report.tables.columns import ALWAYS
from zoo.report.write import write_tables


@pytest.fixture
def table(report):
    return report.table.frame.set_index("pe")


def by_pe(records):
    return make_table(records).set_index("pe")


def test_every_column_says_what_it_holds_and_an_empty_table_has_them_too(report):
    columns = report.table.columns
    assert all(re.fullmatch(r"[A-Z0-9].*\.|.*; ~: .*\.", column.help) for column in columns)
    keys = [column.key for column in columns]
    assert len(keys) == len(set(keys))
    assert {key.replace("score", "accuracy") for key in make_table([]).columns} < set(keys)


def test_the_best_is_first_a_baseline_too_and_ties_share_a_rank(table):
    assert list(table.index) == ["", "rope", "sin", "none"]
    assert table["baseline"].iloc[0] == table["attention"].iloc[0] == "words"
    assert list(table["rank"]) == [1, 2, 2, 4], "the baseline is a row"
    worse = [*run(baseline=False), train_record("words", 0, 100)]
    assert list(by_pe(worse).index) == ["rope", "sin", "", "none"]


@pytest.mark.parametrize(("seeds", "rank"), [(3, "2="), (2, "")])
def test_a_row_with_fewer_seeds_than_others(seeds, rank):
    records = [r for r in run() if r.cell.get("pe") != "sin" or (r.seed or 0) < seeds]
    shown = readable(records).set_index("pe")
    assert (shown["rank"]["sin"], shown["seeds"]["sin"]) == (rank, str(seeds))
    assert ("±" in shown["accuracy"]["sin"]) == (seeds == 3)


def test_a_ratio_is_a_number_with_a_mark_where_it_is_not_told_apart_from_1(table):
    assert table["train_ratio"]["rope"] == 1
    assert table["train_ratio_low"]["none"] < 2 < table["train_ratio_high"]["none"]
    few = [cost_record(cell(pe=pe), [s] * 3, REFERENCE, [1.0] * 3)
           for pe, s in (("rope", 1.0), ("sin", 2.0))]  # fmt: skip
    assert list(readable(few)["× train"]) == ["~2.00", "reference"], "too few for an interval"


def test_tokens_a_second_are_the_ratio_times_one_rate_of_the_run():
    """So that columns agree, though rope was timed in two groups and once at half the speed."""
    records = [
        cost_record(cell(pe="rope"), [1.0] * 12, REFERENCE),
        cost_record(cell(pe="sin"), [2.0] * 12, REFERENCE),
        cost_record(cell(pe="none"), [1.5] * 12, REFERENCE, [0.5] * 12, session="two"),
    ]
    table = by_pe(records)
    for phase in ("train", "infer"):
        rates = table[f"{phase}_tokens_per_s"]
        assert rates["sin"] / rates["rope"] == pytest.approx(2)
        assert rates["none"] / rates["rope"] == pytest.approx(table[f"{phase}_ratio"]["none"]) == 3


def test_within_ten_percent_nothing_is_decided_of_a_row_timed_beside_other_work():
    busy = cost_record(cell(pe="sin"), [1.08] * 12, REFERENCE, wall=1.6)
    quiet = cost_record(cell(pe="none"), [1.08] * 12, REFERENCE, wall=1.4)
    records = [cost_record(cell(pe="rope"), [1.0] * 12, REFERENCE), busy, quiet]
    shown = readable(records).set_index("pe")
    assert "Other work had the cores while sin had turns" in caption(records)
    assert list(shown["× train"][["sin", "none"]]) == ["~1.08", "1.08"]


@pytest.mark.parametrize("seeds", [1, 2])
def test_with_too_few_seeds_nothing_is_ranked(seeds):
    table = make_table(run(seeds=seeds))
    assert table[["rank", "accuracy_low"]].isna().all(axis=None)


def test_a_row_whose_costs_failed_is_ranked_by_its_accuracy():
    again = cost_record(cell(pe="sin"), [1.0], REFERENCE).model_copy(
        update={"status": "timeout", "reason": "too long"}
    )
    sin = by_pe([*run(), again]).loc["sin"]
    assert (sin["status"], sin["reason"], sin["rank"]) == ("timeout", "too long", 2)
    assert pd.isna(sin["train_ratio"])


@pytest.mark.parametrize("seeds", [[0], [0, 1, 2, 3, 4]], ids=["once", "with every seed"])
def test_a_deterministic_fit_has_no_interval_and_pairs_with_every_seed(seeds):
    fits = [train_record("words", seed, 20, deterministic=True) for seed in seeds]
    report = RunReport([*run(baseline=False), *fits])
    shown = shown_table(report).iloc[0]
    assert (shown["accuracy"], shown["seeds"]) == ("0.980", str(len(seeds)))
    row = report.rows[0]
    assert row.values == dict.fromkeys(range(5), 0.98)
    assert [len(wrong) for wrong in row.wrong.values()] == [20] * 5
    values = report.lines[0]
    assert (values["rank"], values["seeds"], values["accuracy_low"]) == (1, len(seeds), None)


def test_tables_are_the_same_bytes_each_time_and_can_be_read_back(tmp_path):
    write_tables(RunReport(run()), tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write_tables(RunReport(run()), tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(first) == {"table.csv", "table.md", "table.tex"}
    assert list(pd.read_csv(io.BytesIO(first["table.csv"]))["rank"]) == [1, 2, 2, 4]


def test_a_narrow_terminal_leaves_out_the_columns_of_the_highest_priority(report):
    table = report.table
    widths = {}
    for width in (20, 80, 120, 400):
        *lines, last = table.text(width=width).splitlines()
        heads = [column for column in table.readable if column.head in lines[0]]
        lines += [] if last.startswith("(") else [last]
        widths[width] = max(map(len, lines))
        left_out = [column for column in table.readable if column not in heads]
        assert {c.priority for c in table.readable if c.priority == ALWAYS} == {ALWAYS}
        assert not left_out or min(c.priority for c in left_out) >= max(c.priority for c in heads)
        assert len(lines) == 2 + len(report.rows)
    assert widths[20] < widths[80] <= 80 < widths[120] <= 120
    assert table.text(width=400) == table.text()


HOSTILE = "50%_of $x$ & \\input{x} #1 ~^ {<b>}\nnext \u202e"


def test_names_cannot_be_commands_of_latex(tmp_path):
    write_tables(RunReport([*run(), skipped(cell(attention=HOSTILE), HOSTILE)]), tmp_path)
    text = (tmp_path / "table.tex").read_text()
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    counts = {len(re.split(r"(?<!\\)&", line)) for line in body}
    assert len(counts) == 1, "an & of a name would be a column"
    shown = r"50\%\_of \$x\$ \& \textbackslash{}input\{x\} \#1"
    assert sum(shown in line for line in body) == 1
    assert "\u202e" not in text, "nor change the direction of the row"
