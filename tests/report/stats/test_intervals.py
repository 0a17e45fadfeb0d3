"""Means over seeds, the error of a test set and shrunk variances, beside scipy and statsmodels."""

import math

import numpy as np
import pytest
from factory import cell, seeds
from scipy import linalg, optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import (
    MOST_PRIOR,
    Interval,
    _independent,
    _prior,
    moderate,
    sampling_error,
)
from zoo.report.stats.paired import holm


@pytest.mark.parametrize(
    ("mean", "low", "high", "text"),
    [
        (0.943, None, None, "0.943"),
        (0.943, 0.935, 0.950, "0.943 ± 0.008"),
        (0.999, 0.991, 1.000, "0.999 (0.991 to 1.000)"),
    ],
)
def test_both_ends_are_written_where_they_are_not_equally_far(mean, low, high, text):
    assert Interval(mean, low, high).text(3) == text


def test_no_interval_goes_beyond_the_limits_of_the_metric():
    records = [*seeds(cell(pe="none"), [0, 10, 0]), *seeds(cell(pe="sin"), [1000, 990, 1000])]
    table = RunReport(records).table.frame.set_index("pe")
    assert 0.999 < table.loc["none", "accuracy_high"] <= 1.0
    assert 0.0 <= table.loc["sin", "accuracy_low"] < 0.001


@pytest.mark.parametrize(("p", "n"), [(0.95, 307), (0.5, 40), (0.05, 307), (0.0, 20), (1.0, 307)])
def test_the_sampling_error_reaches_the_farther_end_of_wilsons_interval(p, n):
    """Wilson 1927: the q for which (p - q)² = z² q (1 - q) / n; the farther of the two roots."""
    z2 = stats.norm.ppf(0.975) ** 2
    roots = np.roots([1 + z2 / n, -(2 * p + z2 / n), p**2])
    assert sampling_error(p, n) == pytest.approx(max(abs(roots - p)))
    low, high = proportion_confint(p * n, n, method="wilson")
    assert sampling_error(p, n) == pytest.approx(max(high - p, p - low))


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


@pytest.mark.parametrize("prior_df", [3.0, 10.0])
def test_a_known_prior_is_found_as_by_maximum_likelihood(generator, prior_df):
    """Variances are s₀² F(d, d₀) distributed (Smyth 2004, section 4)."""
    df, location = 4.0, 2.5
    variances = location * stats.f(df, prior_df).rvs(4000, random_state=generator)

    def unlikely(logs: np.ndarray) -> float:
        d0, s0 = np.exp(logs)
        return -float((stats.f(df, d0).logpdf(variances / s0) - np.log(s0)).sum())

    best = np.exp(optimize.minimize(unlikely, [1.0, 0.0], method="Nelder-Mead").x)
    prior = _prior(variances, np.full(4000, df))
    assert prior == pytest.approx(best, rel=0.25)
    assert prior == pytest.approx((prior_df, location), rel=0.25)


def test_equal_variances_are_pooled_as_far_as_is_allowed(generator):
    """Shrunk variances have the weighted form of Smyth's equation, and no more than its weight."""
    values = generator.normal(0, 1, (60, 5))
    moderated = moderate(values, np.ones(60), 60)
    own = values.var(axis=1, ddof=1)
    assert moderated.own == pytest.approx(own)
    slope = np.polyfit(own, moderated.variance, 1)[0]
    assert slope == pytest.approx(1 / (1 + MOST_PRIOR))
    assert moderated.df == pytest.approx(np.full(60, 4 * (1 + MOST_PRIOR)))


def test_one_quantity_keeps_its_own_variance_and_degrees_of_freedom(generator):
    values = generator.normal(0, 1, (1, 5))
    moderated = moderate(values, np.ones(1), 1)
    assert (moderated.variance[0], moderated.df[0]) == (pytest.approx(values.var(ddof=1)), 4)


def test_noisy_quantities_keep_more_of_their_own_variance(generator):
    noise = np.where(np.arange(40) < 20, 1.0, 30.0)
    moderated = moderate(noise[:, None] * generator.normal(0, 1, (40, 5)), np.ones(40), 40)
    quiet, noisy = moderated.variance[:20], moderated.variance[20:]
    assert quiet.max() < noisy.min()
    assert moderated.df[0] < 2 * 4


def test_missing_seeds_do_not_count(generator):
    values = generator.normal(0, 1, (3, 6))
    values[0, 4:] = np.nan
    moderated = moderate(values, np.ones(3), 3)
    assert list(moderated.seeds) == [4, 6, 6]
    assert moderated.own[0] == pytest.approx(np.var(values[0, :4], ddof=1))


@pytest.mark.parametrize("seeds", [3, 5])
def test_the_number_of_independent_quantities_is_that_of_huynh_and_feldt(generator, seeds):
    """Equation 10 for one group, from the covariance of the quantities themselves."""
    values = generator.normal(0, 1, (30, seeds)) * np.linspace(1, 4, 30)[:, None]
    d, covariance = seeds - 1, np.cov(values)
    e = np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
    expected = ((d + 1) * e - 2) / (d - e)
    residuals = values - values.mean(axis=1, keepdims=True)
    assert 2 < expected < 1000
    assert _independent(residuals, 1000) == pytest.approx(expected)
    assert _independent(residuals, 2) == 2, "all pairs of R rows are R - 1 quantities at most"


def test_copies_of_one_row_count_once_and_what_has_nothing_in_common_counts_whole(generator):
    row = generator.normal(0, 1, (1, 5))
    copies = np.repeat(row - row.mean(), 8, axis=0)
    assert _independent(copies, 8) == pytest.approx(1.0)
    assert _independent(linalg.helmert(5), 4) == 4


def test_quantities_without_any_variance_have_none():
    moderated = moderate(np.ones((3, 4)), np.ones(3), 3)
    assert list(moderated.variance) == [0, 0, 0]
