"""``zoo compare``: equal runs are equal, changes are found, and nothing else is reported."""

import json

import numpy as np
import pytest
from factory import (
    MACHINE,
    cell,
    compare,
    failed,
    lm,
    name,
    seeds,
    simulated,
    skipped,
    streamed,
    train_record,
    with_config,
    write_records,
)
from rates import at_most
from refused import refused
from scipy import stats

from zoo.report.compare import comparison_text

SIN, NAIVE = cell(pe="sin"), cell(attention="naive")
AXES = {"attention": ["fused", "naive"], "pe": ["rope", "sin"]}


def row_of(comparison, **choices):
    (row,) = [row for row in comparison.rows if row.name == name(**choices)]
    return row


def change(comparison, **choices):
    return row_of(comparison, **choices).difference


@pytest.mark.slow
def test_equal_runs_are_called_different_no_more_often_than_stated(generator):
    """Four cells trained twice: the whole comparison."""
    repeats, changed = 300, 0
    for _ in range(repeats):
        hardness = generator.normal(0, 1.5, 400)
        runs = [simulated(generator, AXES, lambda parts: 3.0, hardness=hardness) for _ in "ab"]
        changed += any(row.verdict != "tie" for row in compare(*runs).rows)
    assert at_most(changed, repeats, 0.05)


def test_the_difference_is_scipys_paired_t_test_over_the_seeds_of_both():
    before, after = [40, 52, 45, 48, 41], [60, 75, 61, 70, 55]
    sin = change(compare(seeds(SIN, before), seeds(SIN, [*after, 9])), pe="sin")
    expected = stats.ttest_rel(*((1000 - np.array(wrong)) / 1000 for wrong in (after, before)))
    assert sin.p == pytest.approx(expected.pvalue)
    assert (sin.low, sin.high) == pytest.approx(expected.confidence_interval(0.95))


def test_many_rows_are_corrected_for():
    """A p-value of about 0.02 is one in fifty: among thirty rows it is not significant."""
    wrong = [50, 50, 50, 50, 50], [62, 58, 73, 54, 70]
    before, after = seeds(SIN, wrong[0]), seeds(SIN, wrong[1])
    alone = change(compare(before, after), pe="sin")
    assert 0.01 < alone.p < 0.05
    assert alone.real
    noise = [0, 12, -11, 9, -10]
    others, others_after = (
        [
            train_record(cell(pe=f"pe{i}"), seed, 50 + sign * noise[(seed + i) % 5])
            for i in range(30)
            for seed in range(5)
        ]
        for sign in (0, 1)
    )
    among = change(compare(before + others, after + others_after), pe="sin")
    assert (among.p < 0.05, among.real) == (True, False)


def test_rows_that_are_the_same_in_both_runs_are_equal_and_no_tests():
    before, after = seeds(SIN, [50, 52, 51, 49, 50]), seeds(SIN, [70, 75, 71, 79, 72])
    same = [r for i in range(30) for r in seeds(cell(pe=f"pe{i}"), [50, 52, 51, 50, 52])]
    alone, among = compare(before, after), compare(before + same, after + same)
    corrected, expected = (change(comparison, pe="sin") for comparison in (among, alone))
    assert (corrected.adjusted, corrected.real) == (expected.adjusted, True)
    assert change(among, pe="pe3").p is None
    assert row_of(among, pe="pe3").verdict == "tie"


def test_with_one_seed_equal_results_are_a_tie_and_others_are_not_compared():
    before = [train_record(SIN, 0, range(30)), train_record(NAIVE, 0, range(30))]
    after = [train_record(SIN, 0, range(30)), train_record(NAIVE, 0, range(20, 90))]
    comparison = compare(before, after)
    assert row_of(comparison, pe="sin").verdict == "tie"
    row = row_of(comparison, attention="naive")
    assert (row.verdict, row.why) == ("not comparable", "1 seed in common, 3 are needed")


def test_a_difference_too_small_to_print_is_a_tie():
    """One function computed in two ways: rounding, in the same direction with every seed."""
    before = lm(SIN, [2.10, 2.12, 2.11, 2.13])
    after = lm(SIN, [2.100001, 2.1200012, 2.110001, 2.1300009])
    assert stats.ttest_1samp([1e-6, 1.2e-6, 1e-6, 0.9e-6], 0).pvalue < 0.001
    assert row_of(compare(before, after), pe="sin").verdict == "tie"


@pytest.mark.parametrize(
    ("part", "values", "reason"),
    [
        ("data", {"fingerprint": "0123456789abcdef"}, "other data: newswire (baf54e518248)"),
        ("data", {"test": 307}, "other test split: 1000 against 307"),
        ("data", {"train": 900}, "other training split: 1000 against 900"),
        ("training", {"validation": 0.25}, "other validation share: 0.0 against 0.25"),
    ],
)
def test_what_cannot_be_compared_says_why(part, values, reason):
    before = seeds(SIN, [50] * 5)
    comparison = compare(before, with_config(before, part, **values))
    assert {row.verdict for row in comparison.rows} == {"not comparable"}
    assert reason in row_of(comparison, pe="sin").why


@pytest.mark.parametrize(
    ("part", "values"),
    [("training", {"batching": "length"}), ("task_options", {"group_column": ""})],
)
def test_a_run_from_before_a_setting_is_compared_with_one_that_has_its_default(part, values):
    before = seeds(SIN, [50] * 5)
    comparison = compare(before, with_config(before, part, **values))
    assert {row.verdict for row in comparison.rows} == {"tie"}
    assert comparison.notes == []


def test_settings_that_differ_are_named_and_have_verdicts():
    before, after = [40, 52, 45, 48, 41], [60, 75, 61, 70, 55]
    other = with_config(seeds(SIN, after), "training", batching="random", epochs=20)
    comparison = compare(seeds(SIN, before), other)
    assert row_of(comparison, pe="sin").verdict == "worse"
    said = "training.epochs: 2, 20; training.batching: length, random."
    assert said in comparison_text(comparison, "a", "b")


@pytest.mark.parametrize(
    ("ill", "why"),
    [
        ([*seeds(SIN, [50] * 4), failed(SIN, 4, "oom")], "oom: it did not end well"),
        ([skipped(SIN, "no bias")], "skipped: no bias"),
    ],
)
def test_a_cell_that_fails_or_is_skipped_now_is_worse_and_one_that_recovers_better(ill, why):
    well = seeds(SIN, [50] * 5)
    now, recovered, both = (
        row_of(compare(*runs), pe="sin") for runs in ((well, ill), (ill, well), (ill, ill))
    )
    assert (now.verdict, now.why) == ("worse", why)
    assert (recovered.verdict, recovered.why) == ("better", f"before: {why}")
    assert both.verdict == "not comparable"


def test_cells_of_one_run_alone_are_added_and_gone():
    shared = seeds(SIN, [50] * 5)
    after = [*shared, *seeds(cell(pe="alibi"), [50]), *seeds(cell(pe="none"), [50])]
    comparison = compare([*shared, *seeds(NAIVE, [50])], after)
    assert comparison.gone == [name(attention="naive")]
    assert comparison.added == [name(pe="alibi"), name(pe="none")]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (seeds(NAIVE, [50]), r"no row in common: one run has fused\+sin"),
        (lm(SIN, [2.0]), "one run is of classify by accuracy, the other of lm by bits/byte"),
        (streamed(SIN, {0.003: [800]}), "streamed diagnostics are not compared by their scores"),
    ],
)
def test_runs_without_a_row_or_a_task_in_common_are_refused(other, message):
    refused(message, compare, seeds(SIN, [50]), other)


def test_machines_that_differ_are_listed():
    (before,) = seeds(SIN, [50])
    after = before.model_copy(update={"environment": {**MACHINE, "torch": "9.9"}})
    (note,) = compare([before], [after]).notes
    assert (
        note
        == "Made on several machines: a machine, torch 2.13.0, fp32; a machine, torch 9.9, fp32."
    )


@pytest.fixture
def runs(tmp_path):
    before, after = seeds(SIN, [50, 52, 51, 49, 50]), seeds(SIN, [90, 95, 91, 99, 92])
    for side, records in (("a", before), ("b", after)):
        write_records(tmp_path / side, records)
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_the_command_prints_the_table_or_json(runs, said):
    a, b = runs
    printed = said("compare", a, b).out
    for part in ("0.950 ± 0.001", "-4.3 ± ", "worse", "Holm"):
        assert part in printed, part
    (printed,) = [json.loads(said("compare", a, b, "--json").out)]
    (row,) = printed["rows"]
    assert (row["name"], row["verdict"]) == (name(pe="sin"), "worse")


def test_bad_input_is_a_line_and_exit_2(runs, tmp_path, refused_command):
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        ([runs[0], tmp_path / "gone"], "gone: no records.jsonl"),
        ([tmp_path / "empty", runs[0]], "empty: no records.jsonl with records there"),
    ):
        assert message in refused_command("compare", *arguments)
