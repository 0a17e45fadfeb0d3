"""Simulated coverage of the intervals of comparisons with other libraries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy import stats

from bench.simulate.page import page
from bench.simulate.rounds import lines_of_comparisons

RUNS = 200


@pytest.fixture(scope="module")
def lines():
    return {(line["rounds"], line["noise"]): line for line in lines_of_comparisons(RUNS, seed=3)}


def test_t_intervals_hold_at_every_number_of_rounds(lines):
    # As many as a binomial count exceeds in one of a thousand simulations, for each line.
    least = stats.binom.ppf(0.001, RUNS, 0.94) / RUNS
    assert all(line["t"][0] >= least for line in lines.values())


def test_a_bootstrap_of_two_rounds_holds_in_half_of_them(lines):
    # Its ends are the two rounds, which are on two sides of the truth in half of the cases.
    low, high = stats.binom.interval(0.999, RUNS, 0.5)
    assert low <= RUNS * lines[2, 0.01]["bootstrap"][0] <= high
    assert lines[2, 0.01]["bootstrap"][1] < lines[2, 0.01]["t"][1] / 5


def test_the_page_shows_them(lines, tmp_path: Path):
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines.values()))
    text = page(file)
    assert "## Comparisons with other libraries" in text
    row = next(one for one in text.splitlines() if one.startswith("| 5 ") and "1.0%" in one)
    assert f"{lines[5, 0.01]['t'][0]:.1%}" in row
