"""``zoo compare``: equal runs are equal, changes are found, and nothing else is reported."""

import json
import math

import numpy as np
import pytest
from factory import (
    MACHINE,
    cell,
    compare,
    cost_record,
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

from zoo.report.compare import comparison_text, failure_reason
from zoo.report.run_report import RunReport

SIN, NAIVE = cell(pe="sin"), cell(attention="naive")
AXES = {"attention": ["fused", "naive"], "pe": ["rope", "sin"]}


def row_of(comparison, **choices):
    (row,) = [row for row in comparison.rows if row.name == name(**choices)]
    return row


def change(comparison, quantity, **choices):
    return row_of(comparison, **choices).changes[quantity]


def measured(generator, factor=1.0, *, drift=1.0, session="a", machine=MACHINE, **memory):
    """Cost records of a reference and of a cell so many times as fast, on a noisy machine."""
    base, _, own = drift * np.exp(generator.normal(0, 0.01, (3, 12)))
    common = {"session": session, "environment": machine}
    return [
        cost_record(cell(), base, name(), base, **common, **memory),
        cost_record(SIN, factor * own, name(), base, **common, **memory),
    ]


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
        wrongly += bool(failure_reason(comparison))
        changed += any(row.verdict != "tie" for row in comparison.rows)
    assert at_most(changed, repeats, 0.05)
    assert wrongly <= changed


def test_the_difference_is_scipys_paired_t_test_over_the_seeds_of_both():
    before, after = [40, 52, 45, 48, 41], [60, 75, 61, 70, 55]
    sin = change(compare(seeds(SIN, before), seeds(SIN, [*after, 9])), "accuracy", pe="sin")
    expected = stats.ttest_rel(*((1000 - np.array(wrong)) / 1000 for wrong in (after, before)))
    assert sin.p == pytest.approx(expected.pvalue)
    assert (sin.low, sin.high) == pytest.approx(expected.confidence_interval(0.95))


def test_many_rows_are_corrected_for():
    """A p-value of about 0.02 is one in fifty: among thirty rows it is not significant."""
    wrong = [50, 50, 50, 50, 50], [62, 58, 73, 54, 70]
    before, after = seeds(SIN, wrong[0]), seeds(SIN, wrong[1])
    alone = change(compare(before, after), "accuracy", pe="sin")
    assert 0.01 < alone.p < 0.05
    assert alone.verdict == -1
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
    assert (among.p < 0.05, among.verdict) == (True, 0)


def test_rows_that_are_the_same_in_both_runs_are_equal_and_no_tests():
    before, after = seeds(SIN, [50, 52, 51, 49, 50]), seeds(SIN, [70, 75, 71, 79, 72])
    same = [r for i in range(30) for r in seeds(cell(pe=f"pe{i}"), [50, 52, 51, 50, 52])]
    alone, among = compare(before, after), compare(before + same, after + same)
    corrected, expected = (
        change(comparison, "accuracy", pe="sin") for comparison in (among, alone)
    )
    assert (corrected.adjusted, corrected.verdict) == (expected.adjusted, -1)
    equal = change(among, "accuracy", pe="pe3")
    assert (equal.p, equal.verdict) == (None, 0)


def test_with_one_seed_equal_results_are_a_tie_and_others_are_not_compared():
    before = [train_record(SIN, 0, range(30)), train_record(NAIVE, 0, range(30))]
    after = [train_record(SIN, 0, range(30)), train_record(NAIVE, 0, range(20, 90))]
    comparison = compare(before, after)
    assert row_of(comparison, pe="sin").verdict == "tie"
    row = row_of(comparison, attention="naive")
    assert (row.verdict, row.why) == ("not comparable", "1 seed in common, 3 are needed")
    assert failure_reason(comparison) is None, "another seed may differ as much"


def test_a_change_over_some_of_the_seeds_says_over_how_many():
    """It is not the difference of the two means that stand beside it."""
    before, after = seeds(SIN, [50, 60, 40]), [train_record(SIN, 1, range(58))]
    text = comparison_text(compare(before, after), "a", "b")
    assert "+0.2 points, 1 common seed" in text
    assert "common seed" not in comparison_text(compare(before, before), "a", "b")


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
    before = [*seeds(SIN, [50] * 5), *measured(np.random.default_rng(0))]
    comparison = compare(before, with_config(before, part, **values))
    assert {row.verdict for row in comparison.rows} == {"not comparable"}
    assert reason in row_of(comparison, pe="sin").why
    assert failure_reason(comparison) == "nothing could be compared"


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
    assert row_of(comparison, pe="sin").verdict == "worse"
    assert comparison.settings == {"epochs": [(2, 20)], "batching": [("length", "random")]}
    head = "settings that differ: epochs 2 → 20, batching length → random\n"
    assert head in comparison_text(comparison, "a", "b")


@pytest.mark.parametrize("other", [{}, {"torch": "2.14.0"}, {"device_name": "another"}])
def test_a_cell_that_became_slower_than_its_reference_is_worse_and_a_slower_machine_is_not(
    generator, other
):
    """Also where the whole machine is twice as slow, or another; then memory does not compare."""
    machine, before = {**MACHINE, **other}, measured(generator, memory=100.0)
    for factor, verdict in ((0.7, -1), (1.0, 0)):
        about = {"drift": 0.5, "session": "b", "machine": machine, "memory": 300.0}
        comparison = compare(before, measured(generator, factor, **about))
        changed = change(comparison, "train speed", pe="sin")
        assert (changed.value, changed.verdict) == (pytest.approx(factor, rel=0.05), verdict)
        assert changed.low < factor < changed.high
        assert change(comparison, "memory", pe="sin").verdict == (None if other else -1)


def test_the_variances_of_two_runs_add_up(generator):
    runs = [measured(generator), measured(generator, 0.9, session="b")]
    earlier, later = (RunReport(run).speeds.ratio("train", name(pe="sin"), name()) for run in runs)
    changed = change(compare(*runs), "train speed", pe="sin")
    assert changed.value == pytest.approx(later.value / earlier.value)
    widths = [math.log(r.high / r.low) for r in (earlier, later, changed)]
    assert widths[2] == pytest.approx(math.hypot(*widths[:2]))
    z = math.log(changed.value) / (widths[2] / 2 / stats.norm.ppf(0.975))
    assert changed.p == pytest.approx(2 * stats.norm.sf(abs(z)))


@pytest.mark.parametrize(
    ("speed", "wall", "verdict"),
    [(1.028, 1.0, 0), (1.05, 1.0, 1), (1.05, 2.0, 0), (1.15, 2.0, 1)],
)
def test_a_change_too_close_to_1_is_a_tie_however_narrow_its_interval(speed, wall, verdict):
    """Within 3%, and within 10% where other work had the cores."""
    before, after = (
        [cost_record(row, [s] * 40, name(), [1.0] * 40, wall=wall) for row, s in rows]
        for rows in (((cell(), 1.0), (SIN, 1.0)), ((cell(), 1.0), (SIN, speed)))
    )
    changed = change(compare(before, after), "train speed", pe="sin")
    assert changed.low > 1
    assert (changed.adjusted < 0.05, changed.verdict) == (True, verdict)


def test_without_an_equal_reference_speeds_are_not_compared(generator):
    """The setting makes both cells half as fast: their ratio to each other has not changed."""
    other = with_config(measured(generator, drift=0.5), "training", batching="random")
    without = [r for r in measured(generator) if r.name == name(pe="sin")]
    for after in (other, without):
        comparison = compare(measured(generator), after)
        row = row_of(comparison, pe="sin")
        assert (list(row.changes), row.verdict) == (["memory"], "tie")
        assert any("Speeds are not compared" in note for note in comparison.notes)


def test_memory_has_a_fixed_tolerance_and_must_be_measured_in_one_way(generator):
    before = measured(generator)
    for memory, verdict in ((101.0, 0), (109.0, 0), (112.0, -1), (89.0, 1)):
        after = measured(generator, session="b", memory=memory)
        changed = change(compare(before, after), "memory", pe="sin")
        assert (changed.verdict, changed.value) == (verdict, pytest.approx(memory / 100))
    for records, how in ((before, "all that is held"), (after, "freed memory returned")):
        for record in records:
            record.metrics["memory_how"] = how
    assert change(compare(before, after), "memory", pe="sin").verdict is None


def test_a_row_that_got_better_and_worse_is_mixed(generator):
    before = [*seeds(SIN, [50, 52, 51, 49, 50]), *measured(generator)]
    after = [*seeds(SIN, [20, 22, 21, 23, 20]), *measured(generator, 0.6, session="b")]
    row = row_of(compare(before, after), pe="sin")
    assert row.verdict == "mixed"
    assert row.why == "worse train speed, inference speed; better accuracy"
    assert failure_reason(compare(before, after))


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
    assert failure_reason(compare(well, ill)) == "worse: 1"
    assert (recovered.verdict, recovered.why) == ("better", f"before: {why}")
    assert both.verdict == "not comparable"


def test_cells_of_one_run_alone_are_added_and_gone():
    shared = seeds(SIN, [50] * 5)
    after = [*shared, *seeds(cell(pe="alibi"), [50]), *seeds(cell(pe="none"), [50])]
    comparison = compare([*shared, *seeds(NAIVE, [50])], after)
    assert comparison.gone == [name(attention="naive")]
    assert comparison.added == [name(pe="alibi"), name(pe="none")]
    assert failure_reason(comparison) is None, "rows that were not asked for do not count"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (seeds(NAIVE, [50]), r"no row in common: one run has fused\+sin"),
        (lm(SIN, [2.0]), "one run is of classify by accuracy, the other of lm by bits/byte"),
    ],
)
def test_runs_without_a_row_or_a_task_in_common_are_refused(other, message):
    refused(message, compare, seeds(SIN, [50]), other)


def test_versions_that_differ_are_listed():
    (before,) = seeds(SIN, [50])
    after = before.model_copy(update={"environment": {**MACHINE, "zoo": "9.9"}})
    assert compare([before], [after]).notes == ["Versions and machine: zoo none → 9.9."]


@pytest.fixture
def runs(tmp_path, generator):
    before = [*seeds(SIN, [50, 52, 51, 49, 50]), *measured(generator)]
    after = [*seeds(SIN, [90, 95, 91, 99, 92]), *measured(generator, session="b")]
    for side, records in (("a", before), ("b", after)):
        write_records(tmp_path / side, records)
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_the_command_prints_the_table_or_json_and_exits_accordingly(runs, said):
    a, b = runs
    printed = said("compare", a, b).out
    for part in ("0.950 ± 0.001", "-4.3 ± ", "worse: accuracy", "Holm"):
        assert part in printed, part
    (printed,) = [json.loads(said("compare", a, b, "--json").out)]
    assert {row["name"]: row["verdict"] for row in printed["rows"]} == {
        name(): "tie",
        name(pe="sin"): "worse",
    }
    failed = said("compare", a, b, "--fail-on", "worse", status=1)
    assert failed.err == "--fail-on worse: failed (worse: 1)\n"
    assert said("compare", b, a, "--fail-on", "worse").err == "--fail-on worse: passed\n"


def test_bad_input_is_a_line_and_exit_2(runs, tmp_path, refused_command):
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        ([runs[0], tmp_path / "gone"], "gone: no records.jsonl"),
        ([tmp_path / "empty", runs[0]], "empty: no records.jsonl with records there"),
        ([*runs, "--fail-on", "nix"], "'nix' is not 'worse'"),
    ):
        assert message in refused_command("compare", *arguments)
