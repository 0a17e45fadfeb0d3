"""Ratios of speed from the same rounds: their intervals, noise floors and ties."""

from __future__ import annotations

import numpy as np
import pytest
from factory import BATCHES, cell, cost_record, name, record, timed
from rates import at_least
from scipy import stats

from zoo.report.rows import make_rows
from zoo.report.stats.ratios import Speeds, memory_verdict

REFERENCE, SIN, NONE = name(), name(pe="sin"), name(pe="none")


def speeds(*records):
    return Speeds(make_rows(records))


def test_the_ratio_is_the_t_interval_of_log_ratios():
    own, base = np.array([2.0, 2.2, 1.9, 2.1, 2.05]), np.array([1.0, 1.05, 1.02, 0.98, 1.0])
    found = speeds(cost_record(cell(pe="sin"), own, REFERENCE, base)).ratio("train", SIN, REFERENCE)
    logs = np.log(own / base)
    low, high = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert found.value == pytest.approx(np.exp(logs.mean()))
    assert (found.low, found.high) == pytest.approx((np.exp(low), np.exp(high)))
    assert found.verdict == 1


@pytest.mark.parametrize("kind", ["bursts", "drift"])
def test_a_machine_that_others_use_makes_intervals_wider_and_not_wrong(generator, kind):
    """3% of noise, and sometimes 40% of the machine is taken, or all slow down alike."""
    repeats, covered, ties = 200, 0, 0
    for _ in range(repeats):
        noise = generator.normal(0, 0.03, (3, 5))
        if kind == "bursts":
            noise -= np.where(generator.random((3, 5)) < 0.1, 0.5, 0.0)
        else:
            noise -= np.linspace(0, 0.5, 5)
        base, twin, own = np.exp(noise)
        measured = speeds(
            cost_record(cell(pe="sin"), 1.2 * own, REFERENCE, base, twin),
            cost_record(cell(pe="none"), own, REFERENCE, base, twin),
        )
        found = measured.ratio("train", SIN, REFERENCE)
        covered += found.low <= 1.2 <= found.high
        ties += measured.ratio("train", NONE, REFERENCE).verdict == 0
    assert at_least(covered, repeats, 0.95)
    assert at_least(ties, repeats, 0.95)


def test_a_ratio_within_the_noise_floor_is_a_tie_however_narrow_its_interval():
    steady = [1.02] * 5
    noisy_twin, quiet_twin = [1.05, 0.96, 1.04, 0.97, 1.0], [1.0001] * 5
    noisy = speeds(cost_record(cell(pe="sin"), steady, REFERENCE, twin=noisy_twin))
    quiet = speeds(cost_record(cell(pe="sin"), steady, REFERENCE, twin=quiet_twin))
    assert noisy.floor("train", [SIN]) > 0.02
    assert noisy.ratio("train", SIN, REFERENCE).verdict == 0
    assert quiet.floor("train", [SIN]) == pytest.approx(0.0001)
    assert quiet.ratio("train", SIN, REFERENCE).verdict == 1


def test_rows_of_one_session_are_compared_round_by_round():
    """The reference is slow in one round; two other cells are not."""
    base = [1.0, 1.0, 0.3, 1.0, 1.0]
    measured = speeds(
        cost_record(cell(pe="sin"), [1.0] * 5, REFERENCE, base),
        cost_record(cell(pe="none"), [1.1] * 5, REFERENCE, base),
    )
    found = measured.ratio("infer", NONE, SIN)
    assert (found.low, found.value, found.high) == pytest.approx((1.1, 1.1, 1.1))
    assert measured.ratio("infer", SIN, REFERENCE).high > 2


def test_rows_of_two_sessions_are_compared_by_welchs_test(generator):
    one, other = np.exp(generator.normal(0, 0.05, 5)), np.exp(generator.normal(0.1, 0.02, 7))
    measured = speeds(
        cost_record(cell(pe="sin"), one, REFERENCE),
        cost_record(cell(pe="none"), other, REFERENCE, [1.0] * 7, [1.0] * 7, session="two"),
    )
    found = measured.ratio("train", NONE, SIN)
    expected = stats.ttest_ind(np.log(other), np.log(one), equal_var=False)
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected.confidence_interval())))


@pytest.mark.parametrize("rounds", [1, 2])
def test_too_few_rounds_have_a_ratio_and_no_interval(rounds):
    ones = [1.0] * rounds
    measured = speeds(cost_record(cell(pe="sin"), [2.0] * rounds, REFERENCE, ones, ones))
    found = measured.ratio("train", SIN, REFERENCE)
    assert found.value == pytest.approx(2)
    assert (found.low, found.high, found.verdict) == (None, None, None)
    assert measured.floor("train", [SIN]) is None


def test_a_baseline_counts_its_own_tokens_and_the_reference_its_batches():
    words = record(
        "cost",
        baseline="words",
        metrics={},
        samples={
            "session": "one",
            "properties": {"batches": [[5000, 5000]], "infer_batches": [[8000, 8000]]},
            "rounds": [{"train": [1.0], "infer": [1.0], "latency": [0.1]}] * 3,
            "reference": {"name": REFERENCE, "rounds": [timed(1.0)] * 3},
            "twin": {"rounds": [timed(1.0)] * 3},
        },
    )
    alone, both = speeds(words), speeds(cost_record(cell(), [1.0] * 3, REFERENCE), words)
    assert alone.ratio("train", "words", REFERENCE) is None, "the reference's batches are unknown"
    assert both.ratio("train", "words", REFERENCE).value == pytest.approx(5)
    assert both.ratio("infer", "words", REFERENCE).value == pytest.approx(8 / 3)


def test_a_round_that_was_cut_short_counts_the_batches_it_did():
    cut = cost_record(cell(pe="sin"), [1.0] * 3, REFERENCE, [1.0] * 3)
    for one in cut.samples["rounds"]:
        one["train"] = one["train"][:1]
    assert speeds(cut).ratio("train", SIN, REFERENCE).value == pytest.approx(1)
    assert len(BATCHES) == 2


def test_one_slow_batch_does_not_disturb_the_round():
    one = cost_record(cell(pe="sin"), [1.25] * 5, REFERENCE)
    for number, samples in enumerate((one.samples["rounds"], one.samples["reference"]["rounds"])):
        for timed_round in samples:
            timed_round["train"] = timed_round["train"][:1] * 3
            timed_round["train"][number] *= 50
    assert speeds(one).ratio("train", SIN, REFERENCE).value == pytest.approx(1.25)


def cost(pe, speed, reference=REFERENCE, **fields):
    return cost_record(cell(pe=pe), [speed] * 5, reference, **fields)


@pytest.mark.parametrize(
    ("records", "reference", "ratios"),
    [
        ([cost("sin", 2.0), cost("none", 3.0)], "", {SIN: 2.0, NONE: 3.0}),
        ([cost("rope", 1.0), cost("sin", 2.0), cost("none", 3.0)], SIN,
         {REFERENCE: 0.5, NONE: 1.5}),
        # Only what was measured against the same base, which is the latest, has a ratio.
        ([cost("none", 3.0, SIN, started="2026-01-01"), cost("sin", 2.0, started="2026-01-02")],
         "", {SIN: 2.0, NONE: None}),
        ([cost("sin", 2.0), record("cost", "oom", cell=cell(pe="sin"), reason="full")], "",
         {SIN: None}),
    ],
    ids=["default", "chosen", "two bases", "failed since"],
)  # fmt: skip
def test_ratios_are_to_the_reference_of_the_latest_measurements(records, reference, ratios):
    found = Speeds(make_rows(records), reference)
    for one, expected in ratios.items():
        ratio = found.ratio("train", one, reference or REFERENCE)
        assert (ratio and ratio.value) == (expected and pytest.approx(expected)), one


def test_memory_within_the_tolerance_is_a_tie_and_beyond_it_is_not():
    assert [memory_verdict(100, other) for other in (100, 109.9, 111, 90)] == [0, 0, 1, -1]
