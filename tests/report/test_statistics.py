"""Means over seeds and the error of a test set, compared with scipy and with statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from factory import cell, train_record
from rates import at_rate
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import over_seeds, sampling_error
from zoo.report.stats.paired import holm


def test_mean_spread_and_interval_are_those_of_scipy():
    scores = [0.93, 0.95, 0.941, 0.938, 0.944]
    found = over_seeds(scores)
    low, high = stats.ttest_1samp(scores, 0).confidence_interval(0.95)
    assert found is not None
    assert found.mean == pytest.approx(np.mean(scores))
    assert found.sd == pytest.approx(np.std(scores, ddof=1))
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_interval_over_seeds_covers_at_the_stated_rate(generator, seeds):
    """Accuracies on 1,000 examples, with a standard deviation of 0.6 points."""
    repeats = 1000
    drawn = generator.normal(0.94, 0.006, (repeats, seeds)).round(3)
    intervals = [over_seeds(list(scores)) for scores in drawn]
    covered = sum(found.low <= 0.94 <= found.high for found in intervals)
    assert at_rate(covered, repeats, 0.95)


@pytest.mark.parametrize("scores", [[0.9], [0.9, 0.91]])
def test_fewer_than_three_seeds_have_a_mean_and_no_interval(scores):
    found = over_seeds(scores)
    assert found.mean == pytest.approx(np.mean(scores))
    assert (found.low, found.high) == (None, None)
    assert (found.sd is None) == (len(scores) == 1)


def test_no_seeds_have_nothing():
    assert over_seeds([]) is None


def test_seeds_that_agree_have_an_interval_of_no_width():
    found = over_seeds([0.9] * 5)
    assert found.low == pytest.approx(0.9)
    assert found.high == pytest.approx(0.9)


def test_no_interval_goes_beyond_the_limits_of_the_metric():
    wrong = {"none": [0, 10, 0], "sin": [1000, 990, 1000]}
    records = [
        train_record(cell(pe=pe), seed, count)
        for pe, counts in wrong.items()
        for seed, count in enumerate(counts)
    ]
    table = RunReport(records).table.set_index("pe")
    assert 0.999 < table.loc["none", "accuracy_high"] <= 1.0
    assert 0.0 <= table.loc["sin", "accuracy_low"] < 0.001
    assert over_seeds([1.0, 0.99, 1.0]).high > 1


@pytest.mark.parametrize(("p", "n"), [(0.95, 307), (0.5, 40), (0.05, 307), (0.0, 20)])
def test_the_sampling_error_reaches_the_farther_end_of_wilsons_interval(p: float, n: int):
    """Wilson 1927: the q for which (p - q)² = z² q (1 - q) / n; the farther of the two roots."""
    z2 = stats.norm.ppf(0.975) ** 2
    roots = np.roots([1 + z2 / n, -(2 * p + z2 / n), p**2])
    assert sampling_error(p, n) == pytest.approx(max(abs(roots - p)))
    low, high = proportion_confint(p * n, n, method="wilson")
    assert sampling_error(p, n) == pytest.approx(max(high - p, p - low))


def test_a_perfect_score_is_not_certain():
    n = 307
    assert sampling_error(1.0, n) > 0.01


def test_without_examples_there_is_no_sampling_error():
    assert sampling_error(0.9, 0) is None
    assert sampling_error(math.nan, 100) is None


@pytest.mark.parametrize("count", [1, 2, 40])
def test_holms_correction_is_that_of_statsmodels(generator, count):
    p_values = list(generator.random(count) ** 4)
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_what_was_not_tested_is_not_corrected_for():
    assert holm([0.03, None, 0.01]) == [0.03, None, 0.02]
    assert holm([]) == []
