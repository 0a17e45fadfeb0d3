"""``zoo compare`` of speed and memory: ratios to the reference, and machines that differ."""

import math

import pytest
from compared import SIN, change, measured, only_row
from factory import MACHINE, cell, compare, cost_record, name, with_config
from scipy import stats

from zoo.report.run_report import RunReport


def test_a_machine_of_half_the_speed_changes_nothing(generator):
    comparison = compare(measured(generator), measured(generator, drift=0.5, session="b"))
    found = change(comparison, "train speed", pe="sin")
    assert found.verdict == "tie"
    assert found.value == pytest.approx(1.0, abs=0.05)


def test_a_cell_that_became_slower_than_its_reference_is_worse(generator):
    comparison = compare(measured(generator, 1.0), measured(generator, 0.7, session="b"))
    row = only_row(comparison, pe="sin")
    assert (row.verdict, row.why) == ("worse", "train speed, inference speed")
    found = change(comparison, "train speed", pe="sin")
    assert found.value == pytest.approx(0.7, rel=0.05)
    assert found.low < 0.7 < found.high


def test_the_variances_of_two_runs_add_up(generator):
    runs = [measured(generator), measured(generator, 0.9, session="b")]
    one, other = (RunReport(run).speeds.ratio("train", name(pe="sin"), name()) for run in runs)
    found = change(compare(*runs), "train speed", pe="sin")
    assert found.value == pytest.approx(other.value / one.value)
    widths = [math.log(r.high / r.low) for r in (one, other, found)]
    assert widths[2] == pytest.approx(math.hypot(*widths[:2]))
    z = math.log(found.value) / (widths[2] / 2 / stats.norm.ppf(0.975))
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(z)))


@pytest.mark.parametrize(
    ("speed", "wall", "verdict"),
    [(1.028, 1.0, "tie"), (1.05, 1.0, "better"), (1.05, 2.0, "tie"), (1.15, 2.0, "better")],
)
def test_a_change_too_close_to_1_is_a_tie_however_narrow_its_interval(speed, wall, verdict):
    """Within 3%, and within 10% where other work had the cores."""
    before, after = (
        [cost_record(row, [s] * 40, name(), [1.0] * 40, wall=wall) for row, s in rows]
        for rows in (((cell(), 1.0), (SIN, 1.0)), ((cell(), 1.0), (SIN, speed)))
    )
    found = change(compare(before, after), "train speed", pe="sin")
    assert found.low > 1
    assert (found.adjusted < 0.05, found.verdict) == (True, verdict)


@pytest.mark.parametrize("other", [{"torch": "2.14.0"}, {"device_name": "another"}])
def test_another_machine_is_compared_by_ratios_of_speed_alone_and_says_so(generator, other):
    before = measured(generator, memory=100.0)
    after = measured(generator, 0.7, session="b", machine={**MACHINE, **other}, memory=300.0)
    comparison = compare(before, after)
    assert "Another machine" in comparison.costs
    assert change(comparison, "train speed", pe="sin").verdict == "worse"
    memory = change(comparison, "memory", pe="sin")
    assert (memory.value, memory.verdict, memory.why) == (None, None, "another machine")


def test_without_a_common_reference_speeds_are_not_compared(generator):
    other = [r for r in measured(generator) if r.name == name(pe="sin")]
    comparison = compare(measured(generator), other)
    assert change(comparison, "train speed", pe="sin").verdict is None
    assert "Speeds are not compared" in comparison.costs


def test_memory_has_a_fixed_tolerance(generator):
    for memory, verdict in ((101.0, "tie"), (109.0, "tie"), (112.0, "worse"), (89.0, "better")):
        after = measured(generator, session="b", memory=memory)
        found = change(compare(measured(generator), after), "memory", pe="sin")
        assert (found.verdict, found.value) == (verdict, pytest.approx(memory / 100))


def test_memory_that_was_measured_differently_is_not_compared(generator):
    before, after = measured(generator), measured(generator, session="b", memory=300.0)
    for records, how in ((before, "all that is held"), (after, "freed memory returned")):
        for one in records:
            one.metrics["memory_how"] = how
    found = change(compare(before, after), "memory", pe="sin")
    assert (found.value, found.verdict) == (None, None)
    assert found.why == "measured differently"


def test_where_settings_differ_speeds_are_not_compared_because_the_reference_differs_too(generator):
    """The setting makes both cells half as fast: their ratio to each other has not changed."""
    after = with_config(measured(generator, drift=0.5), "training", batching="random")
    comparison = compare(measured(generator), after)
    for metric in ("train speed", "inference speed"):
        found = change(comparison, metric, pe="sin")
        assert (found.value, found.verdict) == (None, None)
    assert change(comparison, "memory", pe="sin").verdict == "tie"
    assert only_row(comparison, pe="sin").why == ""
    assert "Speeds are not compared: the reference cell differs" in comparison.costs
