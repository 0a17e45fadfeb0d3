"""The noise of a run is found again in runs that were drawn with a known one."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from factory import cell, train_record

from bench.simulate.grids import Noise, noise_of
from bench.simulate.page import page
from zoo.report.rows import make_rows

ROWS, SEEDS, EXAMPLES = 12, 8, 1000


@pytest.fixture
def wrong():
    """Which examples each row and seed has wrong: (R, S, N)."""
    generator = np.random.default_rng(20)
    odds = 3.0 - 6.0 * generator.normal(size=EXAMPLES)
    shared = 0.4 * generator.normal(size=(1, SEEDS, 1))
    own = 0.8 * generator.normal(size=(ROWS, SEEDS, 1))
    return generator.random((ROWS, SEEDS, EXAMPLES)) > 1 / (1 + np.exp(-odds - shared - own))


def rows_of(wrong):
    cells = [cell(attention=f"a{row}") for row in range(len(wrong))]
    return make_rows(
        [
            train_record(cells[row], seed, np.flatnonzero(wrong[row, seed]))
            for row, seed in itertools.product(range(len(wrong)), range(wrong.shape[1]))
        ]
    )


def test_it_is_that_of_an_analysis_of_variance(wrong):
    found = noise_of(rows_of(wrong))
    scores = [
        {"score": 1 - wrong[row, seed].mean(), "row": row, "seed": seed}
        for row, seed in np.ndindex(wrong.shape[:2])
    ]
    model = smf.ols("score ~ C(row) + C(seed)", pd.DataFrame(scores))
    table = sm.stats.anova_lm(model.fit())
    squares = table["mean_sq"]
    assert found.residual == pytest.approx(np.sqrt(squares["Residual"]))
    shared = max(squares["C(seed)"] - squares["Residual"], 0.0) / ROWS
    assert found.shared == pytest.approx(np.sqrt(shared), abs=1e-12)
    pairs = itertools.combinations(range(ROWS), 2)
    disputed = [(wrong[a, s] != wrong[b, s]).sum() for a, b in pairs for s in range(SEEDS)]
    assert found.disagreements == pytest.approx(np.mean(disputed))


def test_cells_that_are_one_function_and_baselines_do_not_count(wrong):
    twice = np.concatenate([wrong, wrong[:1]])
    rows = rows_of(twice) + make_rows([train_record("words", seed, 20) for seed in range(SEEDS)])
    assert noise_of(rows) == noise_of(rows_of(wrong))


def test_the_page_of_the_simulations_has_it(tmp_path):
    (tmp_path / "lines.jsonl").write_text("")
    text = page(tmp_path / "lines.jsonl", {"[a run](../a/README.md)": Noise(0.0033, 0.0012, 32.6)})
    assert (
        "- [a run](../a/README.md): 0.33 and 0.12 points, and two cells disagree on 33 documents"
        in text
    )
