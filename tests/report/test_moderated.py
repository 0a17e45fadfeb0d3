"""Variances shrunk towards each other: known priors are found, and correlation is counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from zoo.report.stats.intervals import MOST_PRIOR, _independent, _prior, moderate


@pytest.mark.parametrize("prior_df", [3.0, 10.0])
def test_a_known_prior_is_found_as_by_maximum_likelihood(generator, prior_df):
    """Variances are s₀² F(d, d₀) distributed (Smyth 2004, section 4)."""
    df, location = 4.0, 2.5
    variances = location * stats.f(df, prior_df).rvs(4000, random_state=generator)

    def unlikely(logs: np.ndarray) -> float:
        d0, s0 = np.exp(logs)
        return -float((stats.f(df, d0).logpdf(variances / s0) - np.log(s0)).sum())

    best = np.exp(optimize.minimize(unlikely, [1.0, 0.0], method="Nelder-Mead").x)
    found = _prior(variances, np.full(4000, df))
    assert found == pytest.approx(best, rel=0.25)
    assert found == pytest.approx((prior_df, location), rel=0.25)


def test_equal_variances_are_pooled_as_far_as_is_allowed(generator):
    """Shrunk variances have the weighted form of Smyth's equation, and no more than its weight."""
    values = generator.normal(0, 1, (60, 5))
    found = moderate(values, np.ones(60), 60)
    own = values.var(axis=1, ddof=1)
    assert found.own == pytest.approx(own)
    slope = np.polyfit(own, found.variance, 1)[0]
    assert slope == pytest.approx(1 / (1 + MOST_PRIOR))
    assert found.df == pytest.approx(np.full(60, 4 * (1 + MOST_PRIOR)))


def test_one_quantity_keeps_its_own_variance_and_degrees_of_freedom(generator):
    values = generator.normal(0, 1, (1, 5))
    found = moderate(values, np.ones(1), 1)
    assert (found.variance[0], found.df[0]) == (pytest.approx(values.var(ddof=1)), 4)


def test_noisy_quantities_keep_more_of_their_own_variance(generator):
    noise = np.where(np.arange(40) < 20, 1.0, 30.0)
    found = moderate(noise[:, None] * generator.normal(0, 1, (40, 5)), np.ones(40), 40)
    quiet, noisy = found.variance[:20], found.variance[20:]
    assert quiet.max() < noisy.min()
    assert found.df[0] < 2 * 4


def test_missing_seeds_do_not_count(generator):
    values = generator.normal(0, 1, (3, 6))
    values[0, 4:] = np.nan
    found = moderate(values, np.ones(3), 3)
    assert list(found.seeds) == [4, 6, 6]
    assert found.own[0] == pytest.approx(np.var(values[0, :4], ddof=1))


@pytest.mark.parametrize(("rows", "seeds"), [(16, 5), (16, 10), (4, 5)])
def test_pairs_of_independent_rows_count_as_one_row_less(generator, rows, seeds):
    """All pairs of R rows have one variance in common, with R - 1 times the degrees of freedom."""
    one, other = np.triu_indices(rows, 1)
    found = []
    for _ in range(200):
        pairs = (values := generator.normal(0, 1, (rows, seeds)))[one] - values[other]
        found.append(_independent(pairs - pairs.mean(axis=1, keepdims=True), rows - 1))
    assert np.median(found) == pytest.approx(rows - 1, rel=0.3)


def test_copies_of_one_row_count_once(generator):
    row = generator.normal(0, 1, (1, 5))
    copies = np.repeat(row - row.mean(), 8, axis=0)
    assert _independent(copies, 8) == pytest.approx(1.0)


def test_quantities_without_any_variance_have_none():
    found = moderate(np.ones((3, 4)), np.ones(3), 3)
    assert list(found.variance) == [0, 0, 0]
