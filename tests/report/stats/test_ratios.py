"""Ratios of speed from the same blocks: their intervals and verdicts."""

import math

import numpy as np
import pytest
from factory import cell, cost_record, name, record, turns
from rates import at_least

from zoo.measure.turns import BETWEEN, Z, centre_and_error
from zoo.report.rows import make_rows
from zoo.report.stats.ratios import Speeds, find_reference

REFERENCE, SIN, NONE = name(), name(pe="sin"), name(pe="none")


def speeds(*records):
    rows = make_rows(records)
    return Speeds(rows, find_reference(rows))


def test_the_ratio_is_the_centre_of_the_log_ratios_with_its_interval(generator):
    own, base = np.exp(generator.normal([[0.7], [0.0]], 0.05, (2, 12)))
    ratio = speeds(cost_record(cell(pe="sin"), own, REFERENCE, base)).ratio("train", SIN, REFERENCE)
    centre, error = centre_and_error(np.split(np.log(own / base), 2))
    ends = centre, centre - Z * error, centre + Z * error
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx(tuple(np.exp(ends)))
    assert ratio.verdict == 1


@pytest.mark.parametrize("kind", ["bursts", "drift"])
def test_a_machine_that_others_use_makes_intervals_wider_and_not_wrong(generator, kind):
    """3% of noise, and sometimes 40% of the machine is taken, or all slow down alike."""
    repeats, covered, apart = 200, 0, 0
    for _ in range(repeats):
        noise = generator.normal(0, 0.03, (3, 12))
        if kind == "bursts":
            noise -= np.where(generator.random((3, 12)) < 0.1, 0.5, 0.0)
        else:
            noise -= np.linspace(0, 0.5, 12)
        base, _, own = np.exp(noise)
        measured = speeds(
            cost_record(cell(pe="sin"), 1.2 * own, REFERENCE, base),
            cost_record(cell(pe="none"), own, REFERENCE, base),
        )
        ratio = measured.ratio("train", SIN, REFERENCE)
        covered += ratio.low <= 1.2 <= ratio.high
        apart += measured.ratio("train", NONE, REFERENCE).verdict != 0
    assert at_least(covered, repeats, 0.95)
    assert at_least(repeats - apart, repeats, 0.95)


@pytest.mark.parametrize(
    ("ratio", "wall", "verdict"),
    [
        *[(1.029, 1.0, 0), (1.031, 1.0, 1), (0.971, 1.0, 0), (0.9705, 1.0, -1)],
        *[(1.09, 1.49, 1), (1.09, 1.51, 0), (0.91, 1.51, 0), (1.11, 1.51, 1)],
    ],
)
def test_a_verdict_needs_three_percent_and_of_a_contended_row_ten(ratio, wall, verdict):
    measured = speeds(cost_record(cell(pe="sin"), [ratio] * 40, REFERENCE, [1.0] * 40, wall=wall))
    estimate = measured.ratio("train", SIN, REFERENCE)
    assert estimate.value == pytest.approx(ratio)
    assert not estimate.low <= 1 <= estimate.high
    assert (estimate.verdict, estimate.contended) == (verdict, wall > 1.5)
    assert measured.contended(SIN) == measured.contended(SIN, REFERENCE) == (wall > 1.5)


def test_rows_of_one_session_are_compared_block_by_block():
    """The reference is slow in half of the blocks; two other cells are not."""
    base = [1.0, 0.3] * 6
    measured = speeds(
        cost_record(cell(pe="sin"), [1.0] * 12, REFERENCE, base),
        cost_record(cell(pe="none"), [1.1] * 12, REFERENCE, base),
    )
    ratio = measured.ratio("infer", NONE, SIN)
    ends = np.exp(math.log(1.1) + Z * BETWEEN / math.sqrt(2) * np.array([-1, 0, 1]))
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx(tuple(ends))
    assert measured.ratio("infer", SIN, REFERENCE).high > 2


def test_rows_of_two_sessions_are_independent(generator):
    sin, other = np.exp(generator.normal([[0.0], [0.1]], 0.05, (2, 12)))
    measured = speeds(
        cost_record(cell(pe="sin"), sin, REFERENCE),
        cost_record(cell(pe="none"), other, REFERENCE, session="two"),
    )
    ratio = measured.ratio("train", NONE, SIN)
    (a, first), (b, second) = (centre_and_error(np.split(np.log(x), 2)) for x in (sin, other))
    half = Z * math.hypot(first, second)
    assert (ratio.low, ratio.high) == pytest.approx(
        (math.exp(b - a - half), math.exp(b - a + half))
    )


@pytest.mark.parametrize("blocks", [1, 5])
def test_too_few_blocks_have_a_ratio_and_no_interval(blocks):
    ones = [1.0] * blocks
    measured = speeds(cost_record(cell(pe="sin"), [2.0] * blocks, REFERENCE, ones))
    ratio = measured.ratio("train", SIN, REFERENCE)
    assert ratio.value == pytest.approx(2)
    assert (ratio.low, ratio.high, ratio.verdict) == (None, None, None)
    assert measured.blocks(SIN) == blocks


def test_rates_are_ratios_times_one_rate_of_the_reference():
    """The second session was twice as slow; its row is no slower for that."""
    slow = [0.5] * 12
    measured = speeds(
        cost_record(cell(), [1.0] * 12, REFERENCE),
        cost_record(cell(pe="sin"), [2.0] * 12, REFERENCE),
        cost_record(cell(pe="none"), [0.5] * 12, REFERENCE, slow, session="two"),
    )
    # Of two sessions at 1,000 and 500 tokens/s.
    assert measured.rate("train", REFERENCE) == pytest.approx(750)
    assert measured.rate("train", SIN) == pytest.approx(1500)
    assert measured.rate("train", NONE) == pytest.approx(750)
    assert measured.rate("infer", NONE) == pytest.approx(2250)


def test_a_baseline_counts_its_own_tokens_and_the_reference_its_batches():
    base = cost_record(cell(), [1.0] * 12, REFERENCE)
    words = record(
        "cost",
        baseline="words",
        metrics={},
        samples={
            **base.samples,
            "properties": {"batches": [[5000, 5000]], "infer_batches": [[8000, 8000]]},
            "turns": {
                phase: {"cpu": [[1.0] * 3] * 2, "wall": [[1.0] * 3] * 2} for phase in turns([1.0])
            },
        },
    )
    measured = speeds(words)
    assert measured.ratio("train", "words", REFERENCE).value == pytest.approx(5)
    assert measured.ratio("infer", "words", REFERENCE).value == pytest.approx(8 / 3)


def cost(pe, speed, reference=REFERENCE, **fields):
    return cost_record(cell(pe=pe), [speed] * 12, reference, **fields)


@pytest.mark.parametrize(
    ("records", "ratios"),
    [
        ([cost("sin", 2.0), cost("none", 3.0)], {SIN: 2.0, NONE: 3.0}),
        # Only what was measured against the same base, which is the latest, has a ratio.
        ([cost("none", 3.0, SIN, started="2026-01-01"), cost("sin", 2.0, started="2026-01-02")],
         {SIN: 2.0, NONE: None}),
        ([cost("sin", 2.0), record("cost", "oom", cell=cell(pe="sin"), reason="full")],
         {SIN: None}),
    ],
    ids=["default", "two bases", "failed since"],
)  # fmt: skip
def test_ratios_are_to_the_reference_of_the_latest_measurements(records, ratios):
    measured = speeds(*records)
    for row, expected in ratios.items():
        ratio = measured.ratio("train", row, REFERENCE)
        assert (ratio and ratio.value) == (expected and pytest.approx(expected)), row
