"""Notes: what marks mean, where numbers come from, and nothing of records that were replaced."""

from __future__ import annotations

import pytest
from example import REFERENCE, run
from factory import caption, cell, cost_record, name, readable, train_record, with_config

from zoo.report.run_report import RunReport

ROPE = "components/pe/rope.py"
FIRST, SECOND = {ROPE: "a" * 8, "models/build.py": "0" * 8}, {ROPE: "b" * 8}
STEADY = [1.0] * 12
CODE, MACHINES = "Made by several states of the code", "Made on several machines"


def on(record, torch: str = "2.13.0", code: dict[str, str] = FIRST):
    environment = {**record.environment, "torch": torch}
    return record.model_copy(update={"environment": environment, "code": code})


def trained(seed: int, **where):
    return on(train_record(cell(), seed, 3), **where)


def measured(**where):
    return on(cost_record(cell(), STEADY, name()), **where)


def test_a_cost_that_was_measured_again_leaves_no_trace():
    records = [trained(0), measured(torch="2.11.0", code=SECOND), measured()]
    told = caption(records)
    assert CODE not in told
    assert MACHINES not in told
    # The other way round the table does hold the number of the other machine.
    told = caption([trained(0), measured(), measured(torch="2.11.0", code=SECOND)])
    assert f"{CODE}: {ROPE}." in told
    assert MACHINES in told


def test_a_seed_that_was_trained_again_leaves_no_trace():
    records = [trained(0, code=SECOND), trained(1), trained(0)]
    assert CODE not in caption(records)
    assert CODE in caption([trained(0), trained(1, code=SECOND)])


def test_rows_need_not_depend_on_the_same_modules():
    other = {"components/pe/sin.py": "c" * 8, "models/build.py": "0" * 8}
    assert CODE not in caption([trained(0), trained(1, code=other)])


def test_records_without_hashes_are_of_an_earlier_zoo():
    assert f"{CODE}: an earlier zoo." in caption([trained(0), trained(1, code={})])
    assert CODE not in caption([trained(0, code={}), trained(1, code={})])


def test_a_table_whose_memory_was_measured_in_several_ways_says_so():
    records = run()
    costs = [r for r in records if r.kind == "cost"]
    for one in costs:
        one.metrics["memory_how"] = "freed memory returned"
    assert [n for n in RunReport(records).notes if n.startswith("Memory")] == []
    costs[0].metrics["memory_how"] = "all that is held"
    notes = RunReport(records).notes
    assert sum("Memory was measured in several ways" in note for note in notes) == 1
    assert any("all that is held (1 row)" in note for note in notes)


def test_a_run_whose_rows_are_all_equal_says_so_and_counts_no_comparisons():
    records = [
        train_record(cell(attention=attention), seed, 50 + seed)
        for attention in ("fused", "naive")
        for seed in range(3)
    ]
    notes = caption(records)
    assert "0 comparisons" not in notes
    assert "Rank: all ranked rows have the same results with every seed." in notes
    assert list(readable(records)["rank"]) == ["1=", "1="]


def test_remarks_on_the_data_are_notes():
    remark = "7 of 9 test texts are longer than 4 tokens."
    notes = RunReport(with_config(run(), "data", remarks=[remark])).notes
    assert remark in notes
    assert notes[-1].startswith("Data: ")


def timed(twin, speed=STEADY, **options):
    """The notes of a run with these turns of the reference's second copy and of a row."""
    rows = ("rope", STEADY), ("sin", speed)
    return caption(
        [cost_record(cell(pe=pe), s, REFERENCE, STEADY, twin, **options) for pe, s in rows]
    )


@pytest.mark.parametrize(("twin", "count"), [(STEADY, 2), ([1.1] * 12, 0)])
def test_the_reference_against_itself_is_a_check_that_is_told(twin, count):
    """Of training and of inference; 10% apart in every block is no chance."""
    assert f"the interval of its ratio contains 1 in {count} of 2 cases." in timed(twin)


def test_rows_whose_blocks_ended_at_their_limit_are_counted():
    wild = [1.0, 2.0, 0.5, 1.4, 0.6, 1.0] * 2
    assert "Every interval reaches at most 2% to each side." in timed(STEADY)
    assert "Of 1 row an interval reaches more than 2% to a side" in timed(STEADY, wild)


def test_what_the_mark_of_a_contended_row_means_is_told_where_there_is_one():
    assert "contended: other work had the cores" not in timed(STEADY, wall=1.4)
    assert "contended: other work had the cores" in timed(STEADY, wall=1.6)
