"""Baselines are rows, equal rows are equal, and a run knows what it could have seen."""

import pytest
from factory import cell, lm, name, simulated, train_record
from scipy import stats

from zoo.report.rows import make_rows
from zoo.report.run_report import RunReport
from zoo.report.stats.scores import row_intervals
from zoo.report.stats.verdicts import Verdicts

GRID = {"attention": ["fused", "naive", "linear"], "pe": ["rope", "sin", "none"]}


def test_a_baseline_that_varies_is_a_row_like_others():
    records = [train_record(cell(), s, 50 + s) for s in range(4)]
    records += [train_record("words", s, 200 + 3 * s) for s in range(4)]
    run = RunReport(records)
    assert run.table.frame["rank"].tolist() == [1, 2]
    assert run.lines[1]["accuracy_low"] < 0.796 < run.lines[1]["accuracy_high"]


def test_twins_are_equal_and_count_once():
    wrong = {"fused": 40, "linear": 90}
    records = [train_record(cell(attention=a), s, range(w + 7 * s)) for s in range(5)
               for a, w in wrong.items()]  # fmt: skip
    alone = RunReport(records)
    twins = [r.model_copy(update={"cell": cell(attention="naive")}) for r in records
             if r.cell["attention"] == "fused"]  # fmt: skip
    run = RunReport([*records, *twins])
    assert run.verdicts.tests == alone.verdicts.tests == 1
    assert run.verdicts.pair(name(), name(attention="naive")).equal
    assert run.verdicts.ranks() == {name(): 1, name(attention="naive"): 1,
                                    name(attention="linear"): 3}  # fmt: skip


def test_equal_accuracies_with_other_errors_are_no_twins():
    records = [train_record(cell(pe=pe), s, range(at, at + 20 + s)) for s in range(4)
               for pe, at in (("rope", 0), ("sin", 400))]  # fmt: skip
    verdicts = RunReport(records).verdicts
    assert not verdicts.pair(name(), name(pe="sin")).equal
    assert verdicts.verdict(name(), name(pe="sin")) == 0


def test_what_could_have_been_seen_holds_for_pairs_that_are_no_effects(generator):
    """One factor at a time: the pairs with the reference have half of the level to themselves."""
    rows = make_rows(simulated(generator, {"pe": ["rope", "sin", "none"]}, lambda c: 3.0))
    effect = {rows[0].name: 1.0, rows[1].name: -1.0}
    assert Verdicts(rows, [effect]).visible() > Verdicts(rows).visible()


def test_an_interval_of_perfect_rows_has_a_width_and_ends_at_one():
    records = [train_record(cell(pe=pe), s, 0) for pe in ("rope", "sin") for s in range(5)]
    run = RunReport(records)
    assert run.table.frame["accuracy_high"].tolist() == [1.0, 1.0]
    assert 0.99 < run.table.frame["accuracy_low"][0] < 1.0
    (interval, _) = row_intervals(run.verdicts.scores)
    assert interval.low < interval.mean == interval.high == 1.0


def test_interval_of_an_unbounded_metric_is_a_t_interval():
    bits = [2.501, 2.498, 2.5005, 2.5015, 2.499]
    table = RunReport(lm(cell(), bits)).table.frame
    low, high = stats.ttest_1samp(bits, 0).confidence_interval(0.95)
    ends = table[["bits_per_byte_low", "bits_per_byte_high"]].iloc[0]
    assert list(ends) == pytest.approx([low, high])


def test_a_noisy_row_with_a_worse_mean_may_have_a_better_rank():
    """Steady rows one point apart, and a noisy one whose mean lies below both."""
    wrong = {
        "rope": [100, 102, 98, 101, 99],
        "sin": [141, 139, 140, 142, 138],
        "none": [60, 260, 150, 80, 200],
    }
    records = [train_record(cell(pe=pe), s, wrong[pe][s]) for s in range(5) for pe in wrong]
    ranks = RunReport(records).verdicts.ranks()
    assert ranks == {name(): 1, name(pe="sin"): 2, name(pe="none"): 1}


def test_more_seeds_show_less(generator):
    def visible(seeds):
        records = simulated(generator, GRID, lambda c: 3.0, seeds=seeds)
        return Verdicts(make_rows(records)).visible()

    shown = [visible(seeds) for seeds in (3, 5, 10, 40)]
    assert shown == sorted(shown, reverse=True)
    assert visible(2) is None
