"""Simulated speeds: intervals hold the true ratio, and equal models are not told apart."""

import json

import numpy as np
import pytest
from scipy import stats

from bench.simulate.blocks import Measurement, lines_of_blocks, measured, noisy_logs
from bench.simulate.page import page

RUNS = 25


@pytest.fixture(scope="module")
def lines():
    found = lines_of_blocks(RUNS, seed=3)
    return {(line["models"], line["ratio"], line["noise"]): line for line in found}


def test_intervals_hold_the_true_ratio(lines):
    # As few as a binomial count falls to in one of a thousand simulations, for each line. Ratios
    # of one run have the reference in common, so only runs count.
    least = stats.binom.ppf(0.001, RUNS, 0.94) / RUNS
    assert all(line["covered"] >= least for line in lines.values())


def test_equal_models_are_not_told_apart_and_others_are(lines):
    assert all(line["told"] <= 0.05 for (_, ratio, _), line in lines.items() if ratio == 1)
    assert all(line["told"] > 0.9 for (_, ratio, _), line in lines.items() if ratio > 1)


def test_more_noise_takes_more_blocks_of_two_processes(lines):
    for models, ratio in ((1, 1.1), (7, 1.1)):
        blocks = [lines[models, ratio, noise]["blocks"] for noise in (0.007, 0.02, 0.05)]
        assert blocks == sorted(blocks)
        assert 12 <= blocks[0] < blocks[-1] <= 46
    draw = np.random.default_rng(5)
    assert {len(logs) for logs in measured(Measurement(1, 1.0, 0.005), draw)} == {2}


def test_the_noise_is_that_of_a_ratio():
    ours, theirs = noisy_logs(0.05, (2, 200_000), np.random.default_rng(1))
    assert (ours - theirs).std() == pytest.approx(0.05, rel=0.02)


def test_the_page_shows_them(lines, tmp_path):
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines.values()))
    text = page(file)
    assert "## Speeds" in text
    row = next(one for one in text.splitlines() if one.startswith("| 7 ") and "5.0%" in one)
    assert f"{lines[7, 1.0, 0.05]['covered']:.1%}" in row
