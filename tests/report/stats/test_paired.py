"""Ties: rows called different do differ, and equal rows are ties at the stated rate."""

import itertools
import math

import numpy as np
import pytest
from factory import cell, failed, name, record, seeds, simulated, skipped, train_record
from rates import at_most
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from zoo.report.rows import make_rows
from zoo.report.stats.verdicts import Verdicts

FUSED, NAIVE = cell(), cell(attention="naive")
AXES = {"attention": ["fused", "naive"], "pe": ["rope", "sin"]}


def of(first, second, **options):
    """Two rows that got these examples wrong, seed by seed."""
    return make_rows([*seeds(FUSED, first, **options), *seeds(NAIVE, second, **options)])


def difference(first_row, other):
    return Verdicts([first_row, other]).pair(first_row.name, other.name)


def called_different(rows):
    """All pairs that are."""
    verdicts = Verdicts(rows)
    pairs = itertools.combinations([row.name for row in rows], 2)
    return [pair for pair in pairs if verdicts.verdict(*pair)]


def test_the_test_over_seeds_is_scipys_paired_t_test():
    first, second = [40, 52, 45, 48, 41], [60, 75, 61, 70, 55]
    first_row, other = of(first, second)
    tested = difference(first_row, other)
    accuracies = [(1000 - np.array(wrong)) / 1000 for wrong in (first, second)]
    expected = stats.ttest_rel(*accuracies)
    assert tested.mean == pytest.approx(np.mean(accuracies[0] - accuracies[1]))
    assert tested.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert (tested.low, tested.high) == pytest.approx((low, high))


def test_the_test_over_examples_is_mcnemars_test():
    """Each seed differs by two examples, always in the same direction: no spread over seeds."""
    row, other = of([[0, 1, 2, 3, 4]] * 3, [[3, 4, 5, 6, 7, 8, 9]] * 3)
    expected = mcnemar([[0, 15], [9, 0]], exact=False, correction=True).pvalue
    assert difference(row, other).p == pytest.approx(expected)


@pytest.mark.parametrize("listed", [True, False])
def test_three_seeds_that_differ_by_one_example_each_are_a_tie(listed):
    row, other = of([10] * 3, [11] * 3, listed=listed)
    assert difference(row, other).p > 0.05
    assert Verdicts([row, other]).ranks() == {name(): 1, name(attention="naive"): 1}


@pytest.mark.parametrize(
    ("axes", "options"),
    [
        ({"pe": ["rope", "sin"]}, {}),
        *(
            pytest.param(AXES, options, marks=pytest.mark.slow)
            for options in (
                {"spread": 0.3}, {"examples": 300, "seeds": 3}, {"seeds": 10, "shared": 0.4}
            )
        ),
    ],
)  # fmt: skip
def test_rows_of_equal_accuracy_are_called_different_no_more_often_than_stated(
    generator, axes, options
):
    """All pairs of a grid, and so whichever row comes out best."""
    repeats, wrongly = 120, 0
    for _ in range(repeats):
        rows = make_rows(simulated(generator, axes, lambda parts: 3.0, **options))
        wrongly += bool(called_different(rows))
    assert at_most(wrongly, repeats, 0.05)
    assert wrongly > 0 or options


def test_rows_are_compared_over_the_seeds_that_both_have():
    records = [train_record(FUSED, seed, 50 + seed) for seed in range(5)]
    records += [train_record(NAIVE, seed, 52 + 2 * seed) for seed in range(1, 4)]
    row, other = make_rows(records)
    tested = difference(row, other)
    assert tested.seeds == 3
    assert tested.mean == pytest.approx(np.mean([(2 + seed) / 1000 for seed in range(1, 4)]))


def seeds_of(row, seeds, wrong=50):
    return [train_record(row, seed, wrong + seed) for seed in seeds]


@pytest.mark.parametrize(
    ("records", "ranked"),
    [
        ([*seeds_of(FUSED, range(2)), *seeds_of(NAIVE, range(2), 300)], set()),
        ([*seeds_of(FUSED, range(4)), *seeds_of(NAIVE, range(2, 6), 300)], set()),
        (seeds_of(FUSED, range(5)), set()),
        (
            [
                *(r for row in (FUSED, NAIVE, "words") for r in seeds_of(row, range(3))),
                skipped(cell(attention="linformer")),
                *seeds_of(cell(pe="sin"), range(4), 10),
                failed(cell(pe="sin"), 4, "diverged"),
            ],
            {name(), name(attention="naive"), "words"},
        ),
    ],
    ids=["two seeds", "two seeds in common", "one cell", "skipped and diverged"],
)
def test_what_was_compared_is_ranked(records, ranked):
    """Those of a cell that lost a seed are the seeds that went well: it has no rank."""
    verdicts = Verdicts(make_rows(records))
    assert set(verdicts.ranks()) == ranked
    if not ranked:
        assert verdicts.verdict(name(), name(attention="naive")) is None


def test_a_seed_whose_metric_is_not_a_number_does_not_count():
    nan = record("train", seed=3, cell=FUSED, metrics={"accuracy": math.nan})
    (row,) = make_rows([*seeds_of(FUSED, range(3)), nan])
    assert sorted(row.values) == [0, 1, 2]


def test_a_row_that_is_better_on_common_seeds_is_never_ranked_behind_the_best():
    """The best has the higher mean only because of seeds that the other lacks."""
    records = [train_record(FUSED, seed, 60 + seed % 3) for seed in range(3)]
    records += [train_record(FUSED, seed, 0) for seed in range(3, 30)]
    records += [train_record(NAIVE, seed, 20 + seed % 2) for seed in range(3)]
    verdicts = Verdicts(make_rows(records))
    assert verdicts.best_of(verdicts.rows).name == name()
    assert verdicts.ranks()[name(attention="naive")] == 1


def test_a_later_record_replaces_an_earlier_one_and_any_that_ran_a_skipped_one():
    records = [
        skipped(NAIVE),
        *(train_record(NAIVE, seed, 90) for seed in range(3)),
        train_record(NAIVE, 1, 10),
    ]
    (row,) = make_rows(records)
    assert row.values == {0: 0.91, 1: 0.99, 2: 0.91}
    assert row.bad is None
