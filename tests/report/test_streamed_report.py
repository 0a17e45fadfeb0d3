"""The report of a run on a streamed diagnostic: what rows learn, from records made by hand."""

import factory
import pandas as pd
import pytest

from zoo.report.run_report import RunReport
from zoo.report.write import BenchResult, report_text, write_report

FAST = [8_000, 8_800, 8_800, 9_600, 8_000, 8_000]
ROPE, SIN, NONE, ALIBI = (factory.cell(pe=pe) for pe in ("rope", "sin", "none", "alibi"))


def records() -> list:
    slow, never = [3 * examples for examples in FAST[::-1]], [None] * 6
    return [
        *factory.streamed(NONE, {0.001: never, 0.003: never, 0.01: never}),
        *factory.streamed(SIN, {0.001: never, 0.003: slow, 0.01: slow}),
        *factory.streamed(ROPE, {0.001: [40_000] * 6, 0.003: FAST, 0.01: FAST}),
        *factory.streamed(ALIBI, {0.001: never, 0.003: [9_000, None, None] * 2, 0.01: never}),
    ]


@pytest.fixture(scope="module")
def run() -> RunReport:
    return RunReport(records())


def test_a_row_says_how_often_and_how_fast_it_solves_and_its_window(run):
    frame = run.table.frame.set_index("pe")
    assert list(frame.index) == ["rope", "sin", "alibi", "none"], "the fastest first"
    assert list(frame["solved"]) == [6, 6, 2, 0]
    assert list(frame["runs"]) == [6] * 4
    assert list(frame["median_examples"])[:2] == [8_400, 25_200]
    assert frame["median_examples"].isna().tolist() == [False, False, True, True]
    assert list(frame["window"]) == [3, 2, 0, 0]
    assert list(frame["best_lr"])[:3] == [0.003] * 3
    assert list(frame["accuracy_median"]) == [0.99, 0.99, 0.53, 0.53]
    assert set(frame["floor"]) == {0.5}
    assert set(frame["solved_at"]) == {0.95}
    printed = report_text(run)
    for text in ("6/6 · 8.4k · 3 rates", "2/6 · >60k", "0/6 · .53", "0.001, 0.003, 0.01"):
        assert text in printed
    assert "±" not in printed


def test_the_answer_says_what_is_faster_what_ties_and_what_never_solves(run):
    assert run.answer == [
        "rope needs the fewest examples: solved in 6 of 6 runs at rate 0.003, after 8.4k examples.",
        "sin needs 3 times (2.9 to 3.1) its examples; alibi needs at least 1.6 times its examples.",
        "Never solved by none.",
    ]


def test_ranks_are_of_the_exchange_test_and_say_so(run):
    frame = run.table.frame.set_index("pe")
    assert frame["rank"]["rope"] == 1
    assert frame["rank"]["sin"] > 1
    (note,) = [note for note in run.notes if note.startswith("Rank:")]
    assert "(6 comparisons)" in note
    assert "an exploratory family" in note


def test_too_few_seeds_are_told():
    few = [record for record in records() if record.seed < 1]
    answer = RunReport([r for r in few if r.cell["pe"] in ("rope", "none")]).answer
    assert answer[-1] == "No two rows are told apart by 1 seed; run with --seeds 6."


def test_rows_that_never_solve_tie():
    never = [factory.streamed(cell, {0.003: [None] * 6}) for cell in (ROPE, SIN)]
    run = RunReport([*never[0], *never[1]])
    assert run.answer == [
        "No row solves it in any run: rope comes to accuracy 0.530, where 0.500 needs no skill."
    ]
    assert set(run.table.frame["rank"]) == {1}


def test_scores_are_of_the_metric_that_was_asked_for():
    never = factory.streamed(ROPE, {0.003: [None] * 6})
    records = [r.model_copy(update={"metrics": r.metrics | {"macro_f1": 0.31}}) for r in never]
    run = RunReport(records, metric="macro_f1")
    assert run.score_text(factory.name()) == "0/6 · .31"


def test_every_run_is_kept_and_written(run, tmp_path):
    page = write_report(run, tmp_path)
    assert page.exists()
    frame = BenchResult(run, tmp_path).runs
    assert len(frame) == len(records())
    rope = frame[frame["row"] == factory.name()]
    assert sorted(rope["lr"].unique()) == [0.001, 0.003, 0.01]
    assert set(rope["examples_seen"][rope["lr"] == 0.003]) == set(FAST)
    table = BenchResult(run, tmp_path).table
    assert table.loc[factory.name(), "score"] == 0.99
    assert pd.isna(table.loc[factory.name(), "low"])


def test_a_crash_at_any_rate_is_a_failure_of_the_row():
    (first, *others) = records()
    crashed = first.model_copy(update={"status": "crashed", "metrics": {}, "reason": "lost"})
    frame = RunReport([crashed, *others]).table.frame.set_index("pe")
    assert frame["status"]["none"] == "crashed"
    assert list(frame["status"]) == ["ok", "ok", "ok", "crashed"]
