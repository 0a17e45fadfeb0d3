"""Simulated runs: what is called different, found and covered, as often as is stated."""

from dataclasses import replace

import numpy as np
import pytest
from rates import at_least, at_most
from scipy import sparse

from bench.simulate.grids import Scenario, draw
from bench.simulate.outcomes import simulate
from zoo.report.stats import paired

LARGE = ((6, 3), (16, 3), (6, 5), (16, 5))  # cells and seeds
SCENARIOS = Scenario(16, 5), Scenario(16, 5, noisy=2), Scenario(16, 3, noisy=2)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "scenario",
    [Scenario(4, 3, noisy=1), Scenario(8, 5, accuracy=0.999), *map(slow, SCENARIOS)],
    ids=str,
)  # fmt: skip
def test_false_findings_are_no_more_than_stated(generator, scenario):
    outcome = simulate(scenario, 60, generator)
    assert at_most(round(outcome.false * 60), 60, 0.05)


def test_two_points_are_found_in_nine_of_ten(generator):
    """The target: 16 rows, 5 seeds, a residual standard deviation of 0.47 points."""
    outcome = simulate(Scenario(16, 5, gap=2.0), 30, generator)
    assert outcome.power >= 0.9


@pytest.mark.parametrize(
    ("cells", "seeds"),
    [(2, 3), *(slow(*large) for large in LARGE)],
)
def test_what_a_run_says_it_could_have_seen_it_does_see(generator, cells, seeds):
    """At that difference 4 of 5 pairs are found, whatever the number of rows and seeds."""
    runs = 80
    seen = simulate(Scenario(cells, seeds), 40, generator).visible
    outcome = simulate(Scenario(cells, seeds, gap=seen), runs, generator)
    assert at_least(round(outcome.power * runs), runs, 0.8)
    assert at_most(round(outcome.power * runs), runs, 0.85)


@pytest.mark.parametrize(("accuracy", "seeds"), [(0.94, 5), (0.999, 3), (0.9999, 10)])
def test_intervals_cover_also_near_one(generator, accuracy, seeds):
    outcome = simulate(Scenario(8, seeds, accuracy=accuracy), 30, generator)
    assert 0.88 <= outcome.covered <= 1.0


def test_a_cell_is_compared_with_a_deterministic_fit_over_its_own_seeds(generator):
    """Equal on average: called different no more often than stated, though seeds shift all."""
    repeats, wrongly = 60, 0
    for _ in range(repeats):
        drawn = draw(Scenario(4, 5, shared=0.006), generator)
        values = np.vstack([drawn.scores.values, np.full(5, 0.94)])
        wrong = np.pad(drawn.scores.wrong, ((0, 0), (0, 1), (0, 0)))
        fixed = np.array([False] * 4 + [True])
        rows = [f"row {n}" for n in range(5)]
        wrongly += any(_against_fixed(drawn.scores, values, wrong, fixed, rows))
    assert at_most(wrongly, repeats, 0.05)


def _against_fixed(scores, values, wrong, fixed, rows):
    listed = np.tile(~fixed, (5, 1))
    whole = replace(scores, values=values, wrong=wrong, listed=listed, fixed=fixed)
    weights = sparse.csr_array(np.hstack([np.eye(4), -np.ones((4, 1))]))
    return [d.real for d in paired.judged(paired.tested(whole, weights))]
