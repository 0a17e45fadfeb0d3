"""``zoo compare``: equal runs are equal, changes are found, and nothing else is reported."""

import json

import numpy as np
import pytest
from compared import NAIVE, SIN, change, measured, only_row
from factory import (
    ACCURACY,
    MACHINE,
    cell,
    compare,
    failed,
    lm,
    name,
    seeds,
    simulated,
    skipped,
    train_record,
    with_config,
    write_records,
)
from rates import at_most
from refused import refused
from scipy import stats

from zoo.report.compare_runs import failure_reason
from zoo.report.compare_text import comparison_text

AXES = {"attention": ["fused", "naive"], "pe": ["rope", "sin"]}


@pytest.mark.slow
def test_equal_runs_are_called_different_no_more_often_than_stated(generator):
    """Four cells trained twice, and one of them measured twice: the whole comparison."""
    repeats, wrongly, changed = 300, 0, 0
    for _ in range(repeats):
        hardness = generator.normal(0, 1.5, 400)
        runs = [
            simulated(generator, AXES, lambda parts: 3.0, hardness=hardness)
            + measured(generator, drift=generator.uniform(0.5, 2), session=session)
            for session in "ab"
        ]
        comparison = compare(*runs)
        wrongly += bool(failure_reason(comparison, "worse"))
        changed += bool(failure_reason(comparison, "change"))
    assert at_most(changed, repeats, 0.05)
    assert wrongly <= changed


def test_the_difference_is_scipys_paired_t_test_over_the_seeds_of_both():
    before, after = [40, 52, 45, 48, 41], [60, 75, 61, 70, 55]
    found = change(compare(seeds(SIN, before), seeds(SIN, [*after, 9])), "accuracy", pe="sin")
    accuracies = [(1000 - np.array(wrong)) / 1000 for wrong in (after, before)]
    expected = stats.ttest_rel(*accuracies)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(expected.confidence_interval(0.95))
    assert found.after.mean == pytest.approx(np.mean(1 - np.array([*after, 9]) / 1000))


def test_many_rows_are_corrected_for():
    """A p-value of about 0.02 is one in fifty: among thirty rows it is not significant."""
    wrong = [50, 50, 50, 50, 50], [62, 58, 73, 54, 70]
    before, after = seeds(SIN, wrong[0]), seeds(SIN, wrong[1])
    alone = change(compare(before, after), "accuracy", pe="sin")
    assert 0.01 < alone.p < 0.05
    assert alone.verdict == "worse"
    noise = [0, 12, -11, 9, -10]
    others, others_after = (
        [
            train_record(cell(pe=f"pe{i}"), seed, 50 + sign * noise[(seed + i) % 5])
            for i in range(30)
            for seed in range(5)
        ]
        for sign in (0, 1)
    )
    among = change(compare(before + others, after + others_after), "accuracy", pe="sin")
    assert (among.p < 0.05, among.verdict) == (True, "tie")


def test_rows_that_are_the_same_in_both_runs_are_equal_and_no_tests():
    before, after = seeds(SIN, [50, 52, 51, 49, 50]), seeds(SIN, [70, 75, 71, 79, 72])
    alone = compare(before, after)
    same = [r for i in range(30) for r in seeds(cell(pe=f"pe{i}"), [50, 52, 51, 50, 52])]
    among = compare(before + same, after + same)
    assert (alone.tests, among.tests) == (1, 1)
    found, expected = (change(one, "accuracy", pe="sin") for one in (among, alone))
    assert (found.adjusted, found.verdict) == (expected.adjusted, "worse")
    assert change(among, "accuracy", pe="pe3").verdict == "tie"


def test_with_one_seed_equal_results_are_a_tie_and_others_are_not_compared():
    before = [train_record(SIN, 0, range(30)), train_record(NAIVE, 0, range(30))]
    after = [train_record(SIN, 0, range(30)), train_record(NAIVE, 0, range(20, 90))]
    comparison = compare(before, after)
    assert only_row(comparison, pe="sin").verdict == "tie"
    row = only_row(comparison, attention="naive")
    assert (row.verdict, row.why) == ("not comparable", "1 seed in common, 3 are needed")
    assert failure_reason(comparison, "change") is None, "another seed may differ as much"


@pytest.mark.parametrize(
    ("part", "values", "reason"),
    [
        ("data", {"fingerprint": "0123456789abcdef"}, "other data: newswire (baf54e518248)"),
        ("data", {"test": 307}, "other test split: 1000 test documents against 307"),
        ("data", {"train": 900}, "other training split: 1000 documents against 900"),
        ("training", {"validation": 0.25}, "against 25% of the training documents"),
    ],
)
def test_what_cannot_be_compared_says_why(part, values, reason):
    before = [*seeds(SIN, [50] * 5), *measured(np.random.default_rng(0))]
    comparison = compare(before, with_config(before, part, **values))
    assert {row.verdict for row in comparison.rows} == {"not comparable"}
    assert reason in only_row(comparison, pe="sin").why
    assert failure_reason(comparison, "worse") == "nothing could be compared"


@pytest.mark.parametrize(
    ("part", "values"),
    [("training", {"batching": "length"}), ("task_options", {"group_column": ""})],
)
def test_a_run_from_before_a_setting_is_compared_with_one_that_has_its_default(part, values):
    before = [*seeds(SIN, [50] * 5), *measured(np.random.default_rng(0))]
    comparison = compare(before, with_config(before, part, **values))
    assert {row.verdict for row in comparison.rows} == {"tie"}
    assert comparison.settings == {}


def test_settings_that_differ_are_named_above_the_table_and_have_verdicts():
    before, after = [40, 52, 45, 48, 41], [60, 75, 61, 70, 55]
    other = with_config(seeds(SIN, after), "training", batching="random", epochs=20)
    comparison = compare(seeds(SIN, before), other)
    assert only_row(comparison, pe="sin").verdict == "worse"
    assert comparison.settings == {"epochs": [(2, 20)], "batching": [("length", "random")]}
    head = "settings that differ: epochs 2 → 20, batching length → random\n"
    assert head in comparison_text(comparison, "a", "b")
    rows = [*seeds(NAIVE, before), *with_config(seeds(SIN, before), "training", epochs=4)]
    two = compare([*seeds(NAIVE, before), *seeds(SIN, before)], rows)
    assert two.settings == {"epochs": [(2, 4)]}, "of one row alone"


def test_a_row_that_got_better_and_worse_is_mixed(generator):
    before = [*seeds(SIN, [50, 52, 51, 49, 50]), *measured(generator)]
    after = [*seeds(SIN, [20, 22, 21, 23, 20]), *measured(generator, 0.6, session="b")]
    row = only_row(compare(before, after), pe="sin")
    assert row.verdict == "mixed"
    assert row.why == "worse train speed, inference speed; better accuracy"
    assert failure_reason(compare(before, after), "worse")


def test_a_cell_that_fails_now_is_worse_and_one_that_recovers_better():
    well, ill = seeds(SIN, [50] * 5), [*seeds(SIN, [50] * 4), failed(SIN, 4, "oom")]
    now = only_row(compare(well, ill), pe="sin")
    assert (now.verdict, now.why) == ("worse", "oom (seed 4): it did not end well")
    recovered = only_row(compare(ill, well), pe="sin")
    assert (recovered.verdict, recovered.why) == (
        "better",
        "before: oom (seed 4): it did not end well",
    )
    both = only_row(compare(ill, ill), pe="sin")
    assert both.verdict == "not comparable"
    assert "a seed failed" in both.why


def test_cells_of_one_run_alone_are_added_and_gone():
    shared = seeds(SIN, [50] * 5)
    before = [*shared, *seeds(NAIVE, [50]), skipped(cell(pe="alibi"), "no bias")]
    after = [*shared, *seeds(cell(pe="alibi"), [50]), *seeds(cell(pe="none"), [50])]
    comparison = compare(before, after)
    assert comparison.gone == {name(attention="naive"): ""}
    assert comparison.added == {name(pe="none"): "", name(pe="alibi"): "before skipped: no bias"}
    assert failure_reason(comparison, "change") == "added: 2, gone: 1"
    assert failure_reason(comparison, "worse") is None, "rows that were not asked for do not count"


def test_a_cell_that_ran_before_and_is_skipped_now_fails():
    shared = seeds(SIN, [50] * 5)
    comparison = compare([*shared, *seeds(NAIVE, [50] * 5)], [*shared, skipped(NAIVE, "no bias")])
    assert comparison.gone == {name(attention="naive"): "skipped: no bias"}
    assert failure_reason(comparison, "worse") == "skipped now: 1"


def test_a_difference_too_small_to_print_is_a_tie():
    """One function computed in two ways: rounding, in the same direction with every seed."""
    before = lm(SIN, [2.10, 2.12, 2.11, 2.13])
    after = lm(SIN, [2.100001, 2.1200012, 2.110001, 2.1300009])
    assert stats.ttest_1samp([1e-6, 1.2e-6, 1e-6, 0.9e-6], 0).pvalue < 0.001
    assert only_row(compare(before, after), pe="sin").verdict == "tie"


def ranked_by(label):
    metric = ACCURACY.model_copy(update={"label": label})
    return [r.model_copy(update={"metric_descriptions": (metric,)}) for r in seeds(SIN, [50])]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (seeds(NAIVE, [50]), r"no cell in common: one run has fused\+sin"),
        (lm(SIN, [2.0]), "one run is of the task classify, the other of lm"),
        (ranked_by("exactness"), "one run is ranked by accuracy, the other by exactness"),
    ],
)
def test_runs_without_a_row_a_task_or_a_metric_in_common_are_refused(other, message):
    refused(message, compare, seeds(SIN, [50]), other)


def test_versions_that_differ_are_listed():
    (before,) = seeds(SIN, [50])
    after = before.model_copy(update={"environment": {**MACHINE, "zoo": "9.9"}})
    assert compare([before], [after]).environment == {"zoo": [("", "9.9")]}


@pytest.fixture
def runs(tmp_path, generator):
    before = [*seeds(SIN, [50, 52, 51, 49, 50]), *measured(generator)]
    after = [*seeds(SIN, [90, 95, 91, 99, 92]), *measured(generator, session="b")]
    for side, records in (("a", before), ("b", after)):
        write_records(tmp_path / side, records)
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_the_command_prints_the_table_and_exits_accordingly(runs, said):
    a, b = runs
    printed = said("compare", a, b).out
    for part in ("0.950 ± 0.001", "-4.3 ± ", "worse: accuracy", "Holm", "reference"):
        assert part in printed, part
    failed = said("compare", a, b, "--fail-on", "worse", status=1)
    assert failed.err == "--fail-on worse: failed (worse: 1)\n"
    assert said("compare", b, a, "--fail-on", "worse").err == "--fail-on worse: passed\n"
    said("compare", b, a, "--fail-on", "change", status=1)
    said("compare", a, a, "--fail-on", "change")


def test_json_and_markdown_say_the_same(runs, said):
    found = json.loads(said("compare", *runs, "--json").out)
    verdicts = {row["name"]: row["verdict"] for row in found["rows"]}
    assert verdicts == {name(): "tie", name(pe="sin"): "worse"}
    printed = said("compare", *runs, "--markdown").out
    assert "| worse: accuracy" in printed
    assert all(f"- {note}" in printed for note in found["notes"])


def test_bad_input_is_a_line_and_exit_2(runs, tmp_path, refused_command):
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        ([runs[0], tmp_path / "gone"], "gone: no such directory"),
        ([tmp_path / "empty", runs[0]], "empty: no records.jsonl with records there"),
        ([*runs, "--reference", "nix"], "--reference nix: no such cell was measured in both runs"),
        ([*runs, "--fail-on", "nix"], "'nix' is not one of"),
        ([*runs, "--json", "--markdown"], "use one of the two"),
    ):
        assert message in refused_command("compare", *arguments)
